#!/usr/bin/env python3
"""Measures `view` as a person meets it, on a terminal of its own: usage: view.py --bin PROGRAM CAPTURE [ARGUMENT...]

Prints how long the first screen takes, how long a key takes to be answered while the capture is still read and after, and
the memory at the end. Needs Linux.
"""
import argparse, fcntl, os, pty, re, select, signal, statistics, struct, termios, time

parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
parser.add_argument("capture")
parser.add_argument("rest", nargs=argparse.REMAINDER)
args = parser.parse_args()


class Terminal:
    def __init__(self):
        self.began = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execv(args.bin, [args.bin, "--no-config", "view", args.capture, *args.rest])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))

    def read(self, wait, most=0.5):
        """What is written until nothing comes for so long, or for `most` seconds."""
        out, end = b"", time.perf_counter() + most
        while time.perf_counter() < end and select.select([self.fd], [], [], wait)[0]:
            out += os.read(self.fd, 1 << 16)
        return out

    def until(self, wanted, seconds=600):
        seen, end = b"", time.perf_counter() + seconds
        while not re.search(wanted, seen):
            if time.perf_counter() > end:
                raise SystemExit(f"no {wanted!r}: {seen[-400:]!r}")
            if select.select([self.fd], [], [], 0.05)[0]:
                seen = seen[-100_000:] + os.read(self.fd, 1 << 16)
        return time.perf_counter() - self.began

    def key(self, keys):
        """Seconds until the first answer to a key."""
        self.read(0)
        began = time.perf_counter()
        os.write(self.fd, keys)
        select.select([self.fd], [], [], 30)
        taken = time.perf_counter() - began
        self.read(0.01)
        return taken

    def memory(self):
        with open(f"/proc/{self.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024

    def reading(self):
        """Whether the first line says that more is coming."""
        os.write(self.fd, b"\x0c")
        return b"reading" in self.read(0.2)


def told(what, times):
    print(f"{what}: median {statistics.median(times) * 1e3:.1f} ms, most {max(times) * 1e3:.1f} ms of {len(times)}")


terminal = Terminal()
print(f"first screen: {terminal.until(rb'bytes') * 1e3:.0f} ms")
moves = [b"j", b" ", b"G", b"k", b"b", b"g", b"\x04"]
busy = []
while terminal.reading():
    busy += [terminal.key(key) for key in moves]
if busy:
    told("a key while it reads", busy)
print(f"all read: {time.perf_counter() - terminal.began:.1f} s, {terminal.memory():.0f} MB")
told("a key after", [terminal.key(key) for key in moves * 10])
terminal.key(b"G")
told("a page back", [terminal.key(b"b") for _ in range(50)])
print(f"timeline: {terminal.key(b't') * 1e3:.1f} ms")
print(f"memory: {terminal.memory():.0f} MB")
os.kill(terminal.pid, signal.SIGTERM)
