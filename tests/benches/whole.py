#!/usr/bin/env python3
"""Measures the whole program against what it is to be measured against, and prints a table (docs/PERFORMANCE.md).

usage: whole.py --bin target/release/rpcshark --corpus target/release/examples/corpus [--dir DIR] [--mb N] [--rounds N] [ROW...]

Commands that are compared run in turn, --rounds times; the medians count. Times are user + system time where one thread
is meant, so that other work on the machine disturbs less, else wall time. Needs Linux; tshark for its row.
"""
import argparse, os, resource, shutil, statistics, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("--bin", required=True)
parser.add_argument("--corpus", required=True)
parser.add_argument("--dir", default=None, help="where the corpora go (removed afterwards where not given)")
parser.add_argument("--mb", type=int, default=50, help="size of a corpus")
parser.add_argument("--big", type=int, default=2000, help="size of the corpus that memory is measured on")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("rows", nargs="*", help="cat tshark threads gzip hexl memory start proto filter; all by default")
args = parser.parse_args()
args.bin, args.corpus = os.path.abspath(args.bin), os.path.abspath(args.corpus)
folder = args.dir or tempfile.mkdtemp(prefix="rpcshark-bench-")
os.makedirs(folder, exist_ok=True)
home = os.path.join(folder, "home")
env = {**os.environ, "XDG_CACHE_HOME": home, "XDG_CONFIG_HOME": home}
repo = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def corpus(kind, form, mb=None):
    path = os.path.join(folder, f"{kind}-{mb or args.mb}.{form}")
    if not os.path.exists(path):
        subprocess.run([args.corpus, kind, form, str(mb or args.mb), path], check=True)
    return path


def once(command, out=subprocess.DEVNULL):
    """Wall time, CPU time and peak resident memory in kB of a command."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=env)
    _, _, used = os.wait4(process.pid, 0)
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, used.ru_maxrss


def compare(*commands, wall=False, rounds=None):
    """Medians of commands that are run in turn."""
    taken = [[] for _ in commands]
    for _ in range(rounds or args.rounds):
        for command, times in zip(commands, taken):
            times.append(once(command)[0 if wall else 1])
    return [statistics.median(times) for times in taken]


def row(what, figure, aim):
    print(f"| {what} | {figure} | {aim} |", flush=True)


def decode(path, *more, threads=1):
    return [args.bin, "decode", "--no-config", "--format", "jsonl", "--threads", str(threads), *more, path]


AS = ["--as", "agent.v1.AgentServerMessage"]


def cat():
    path = corpus("mixed", "raw")
    ours, plain = compare(decode(path, *AS), ["cat", path])
    # cat to /dev/null may be done by the kernel without a copy: the copy is what is meant.
    _, copy = compare(["true"], ["dd", f"if={path}", "of=/dev/null", "bs=128k"])
    row(f"mixed, {args.mb} MB, full records", f"{ours:.3f} s, cat {plain:.3f} s, dd {copy:.3f} s: {ours / max(plain, copy, 1e-4):.1f} ×", "≤ 12 ×")
    shown = compare(decode(path, *AS, "--show-secrets"))[0]
    row("the same with --show-secrets", f"{shown:.3f} s: {shown / max(plain, copy, 1e-4):.1f} ×", "")


def tshark():
    path = corpus("small", "pcap", min(args.mb, 10))
    protos = os.path.join(repo, "descriptors", "agent")
    theirs = ["tshark", "-r", path, "-T", "json", "-d", "tcp.port==80,http2", "-o", f'uat:protobuf_search_paths:"{protos}","TRUE"', "-o", "protobuf.preload_protos:TRUE"]
    ours, other = compare(decode(path), theirs, rounds=3)
    row("h2c gRPC pcap, against tshark -T json", f"{ours:.3f} s, tshark {other:.2f} s: {other / ours:.0f} ×", "≥ 200 ×")


def threads():
    path = corpus("mixed", "raw")
    one, two = compare(decode(path, *AS), decode(path, *AS, threads=2), wall=True)
    row("two threads against one, mixed, wall time", f"{one:.3f} s, {two:.3f} s: {one / two:.2f} ×", "≥ 1.6 ×")


def gzip():
    path = corpus("mixed", "gzip", max(args.mb // 5, 2))
    ours, alone = compare(decode(path, *AS, "--encoding", "gzip"), [args.corpus, "inflate", path])
    row("gzip frames, share of the throughput of inflating alone", f"{ours:.3f} s, {alone:.3f} s: {alone / ours:.2f}", "≥ 0.6")


def hexl():
    for kind in ("mixed", "small"):
        path = corpus(kind, "hexl", max(args.mb // 2, 2))
        ours, naive = compare(decode(path), [args.corpus, "naive", path])
        size = os.path.getsize(path) / 1e6
        row(f"appends in hex, JSON Lines, {kind}", f"{size / ours:.0f} MB/s, naive {size / naive:.0f} MB/s: {naive / ours:.1f} ×", "≥ 8 ×")


def memory():
    small, big = corpus("mixed", "raw", args.big // 10), corpus("mixed", "raw", args.big)
    few, many = once(decode(small, *AS))[2], once(decode(big, *AS))[2]
    row(f"peak memory, {args.big} MB file over {args.big // 10} MB", f"{few / 1e3:.0f} MB, {many / 1e3:.0f} MB: {many / few:.2f} ×", "< 1.2 ×")
    pipes = []
    for path in (small, big):
        source = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
        process = subprocess.Popen(decode("-", *AS), stdin=source.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
        source.stdout.close()
        pipes.append(os.wait4(process.pid, 0)[2].ru_maxrss)
        source.wait()
    row("the same through a pipe", f"{pipes[0] / 1e3:.0f} MB, {pipes[1] / 1e3:.0f} MB: {pipes[1] / few:.2f} ×", "< 1.2 ×")


def start():
    path = os.path.join(folder, "one.raw")
    with open(path, "wb") as file:
        file.write(b"\0\0\0\0\4\x0a\2\x6a\0")
    wall, = compare(decode(path, *AS), wall=True, rounds=4 * args.rounds)
    cpu, empty = compare(decode(path, *AS), [args.bin, "--version"], rounds=4 * args.rounds)
    row("decode of one small frame, whole process", f"{wall * 1e3:.1f} ms wall, {cpu * 1e3:.1f} ms CPU (--version {empty * 1e3:.1f} ms)", "< 10 ms")


def proto():
    protos = os.path.join(folder, "protos")
    os.makedirs(protos, exist_ok=True)
    written, number = 0, 0
    while written < 1_000_000:
        text = f'syntax = "proto3";\npackage bench{number}.v1;\n'
        for message in range(40):
            fields = "".join(f"  optional string some_field_{n} = {n};\n" for n in range(1, 9))
            text += f"message Message{message} {{\n{fields}  Message{max(message - 1, 0)} inner = 9;\n}}\n"
        with open(os.path.join(protos, f"bench{number}.proto"), "w") as file:
            file.write(text)
        written, number = written + len(text), number + 1
    path = os.path.join(folder, "one.raw")
    with open(path, "wb") as file:
        file.write(b"\0\0\0\0\4\x0a\2\x6a\0")
    shutil.rmtree(home, ignore_errors=True)
    command = decode(path, "-I", protos, "--no-builtin", "--as", "bench0.v1.Message0")
    first = once(command)[0]
    second, = compare(command, wall=True, rounds=4 * args.rounds)
    row("-I of 1 MB of .proto, second run", f"{second * 1e3:.1f} ms (first {first * 1e3:.0f} ms)", "< 15 ms")


def filter():
    path = corpus("mixed", "raw")
    # A branch that hardly ever comes.
    ours, all_ = compare(decode(path, *AS, "-Y", 'kind == "interaction_query"'), decode(path, *AS))
    row("a filter on kind, against decoding all", f"{ours:.3f} s, {all_:.3f} s: {all_ / ours:.1f} ×", "≥ 3 ×")


print("| what | measured | at least |\n| --- | --- | --- |")
rows = {f.__name__: f for f in (cat, tshark, threads, gzip, hexl, memory, start, proto, filter)}
for name in args.rows or rows:
    if name == "tshark" and not shutil.which("tshark"):
        continue
    rows[name]()
if not args.dir:
    shutil.rmtree(folder)
