#!/usr/bin/env python3
"""Writes a capture of random corruption: frames of real captures with bits flipped, cut, doubled, swapped and lost.

    tests/corrupt.py BYTES SEED FILE... | rpcshark decode --from pcap -

FILE are libpcap captures of one link type; what is written is one of about BYTES bytes in all. A damaged record keeps a
header that can be believed, but for one in ten thousand: a reader has to find its way back from those."""

import random
import struct
import sys

size, seed, files = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
dice = random.Random(seed)
captures = []
for name in files:
    with open(name, "rb") as file:
        data = file.read()
    if data[:4] != b"\xd4\xc3\xb2\xa1" or struct.unpack_from("<I", data, 20)[0] != 1:
        continue
    records, at = [], 24
    while at + 16 <= len(data):
        seconds, micros, length, original = struct.unpack_from("<IIII", data, at)
        records.append((seconds, micros, original, data[at + 16 : at + 16 + length]))
        at += 16 + length
    captures.append(records)
assert captures, "no capture of Ethernet frames among the files"

out = sys.stdout.buffer
out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
written = 24


def port(packet, by):
    """The same packet of another connection: ports moved, so that connections do not melt into one."""
    packet = bytearray(packet)
    if len(packet) > 38 and packet[12:14] == b"\x08\x00" and packet[23] == 6:
        at = 14 + (packet[14] & 15) * 4
        if at + 4 <= len(packet):
            for place in (at, at + 2):
                old = struct.unpack_from(">H", packet, place)[0]
                # The server's port says what is spoken; the client's is high.
                if old >= 32768:
                    struct.pack_into(">H", packet, place, 32768 + (old + by) % 32768)
    return packet


turn = 0
while written < size:
    turn += 1
    records = [(s, m, o, port(p, turn * 7)) for s, m, o, p in dice.choice(captures)]
    harm = dice.random()
    if harm < 0.3:
        for _ in range(dice.randrange(1, 6)):
            a, b = dice.randrange(len(records)), dice.randrange(len(records))
            records[a], records[b] = records[b], records[a]
    if harm < 0.6:
        records = [r for r in records if dice.random() > 0.02]
    if harm > 0.8:
        records = records[dice.randrange(max(len(records), 1)) :]
    for seconds, micros, original, packet in records:
        chance = dice.random()
        if packet and chance < 0.05:
            for _ in range(dice.randrange(1, 9)):
                packet[dice.randrange(len(packet))] ^= 1 << dice.randrange(8)
        elif chance < 0.07:
            packet = packet[: dice.randrange(len(packet) + 1)]
        elif packet and chance < 0.08:
            at = dice.randrange(len(packet))
            packet[at : at + dice.randrange(1, 65)] = dice.randbytes(dice.randrange(1, 65))
        record = bytearray(struct.pack("<IIII", seconds, micros, len(packet), max(original, len(packet))) + packet)
        if dice.random() < 0.0001:
            record[dice.randrange(16)] ^= 1 << dice.randrange(8)
        for _ in range(2 if chance > 0.99 else 1):
            out.write(record)
            written += len(record)
