"""`view` on a terminal of its own: what it takes over it gives back, however it ends. usage: terminal.py PROGRAM CAPTURE"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

program, capture = sys.argv[1:3]


def shell(slave):
    """A shell with one job: tells when it stops or ends, and lets it go on for a line of input."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    os.closerange(3, 100)
    os.environ["TERM"] = "xterm-256color"
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(program, [program, "--no-config", "view", capture])
    modes = termios.tcgetattr(0)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        stopped = os.WIFSTOPPED(status)
        os.tcsetpgrp(0, os.getpid())
        same = "given back" if termios.tcgetattr(0) == modes else "spoilt"
        print(f"<{'stopped' if stopped else os.waitstatus_to_exitcode(status)}, {same}>", flush=True)
        if not stopped:
            os._exit(0)
        sys.stdin.readline()
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)


class Terminal:
    """`view` in a terminal of 100 by 30, once it has drawn."""

    def __init__(self):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        if os.fork() == 0:
            shell(slave)
        os.close(slave)
        self.seen = b""
        self.until(rb"\x1b\[\?1049h.*frame")

    def until(self, wanted):
        """What was written up to a text, since the last time."""
        end = time.time() + 30
        while not (found := re.search(wanted, self.seen, re.DOTALL)):
            assert time.time() < end, f"no {wanted!r} in {self.seen[-2000:]!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.seen += os.read(self.master, 65536)
        written, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return written

    def type(self, keys):
        os.write(self.master, keys)

    def signal(self, number):
        os.killpg(os.tcgetpgrp(self.master), number)

    def given_back(self, how):
        """The job ended or stopped so, and the terminal is as it was."""
        written = self.until(rb"<[\w-]+, [\w ]+>")
        for off in (b"\x1b[?1000l", b"\x1b[?2004l", b"\x1b[?1049l", b"\x1b[?25h"):
            assert off in written, (off, written)
        after = written[written.index(b"\x1b[?1049l") :]
        assert not re.search(rb"\x1b\[\d+;\d+H", after), f"drawn after: {after!r}"
        assert after.endswith(b"<" + how + b", given back>"), after


def case(name, how, act):
    terminal = Terminal()
    act(terminal)
    terminal.given_back(how)
    print("ok   " + name)
    return terminal


case("q", b"0", lambda t: t.type(b"q"))
case("^C", b"0", lambda t: t.type(b"\x03"))
for number in (signal.SIGTERM, signal.SIGHUP):
    case(number.name, b"%d" % -number, lambda t: t.signal(number))
terminal = case("^Z", b"stopped", lambda t: t.type(b"\x1a"))
terminal.type(b"\n")
terminal.until(rb"\x1b\[\?1049h.*frame")
# Drawn anew, on a terminal that does not say where its cursor is.
terminal.type(b"\x0c")
terminal.until(rb"\x1b\[2J.*frame")
terminal.type(b"q")
terminal.given_back(b"0")
print("ok   and back")
