#!/usr/bin/env python3
"""Makes the first inputs of each fuzz target from fixtures/: small ones, under names that say what they are.

Run it from the root of the repository; what fuzzing found stands beside them and is left alone."""

import gzip
import io
import pathlib
import struct
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
CASES = FIXTURES / "cases"
CORPUS = ROOT / "tests/fuzz/corpus"


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode())


def named(path):
    """case-file, without what every name has."""
    parent = path.parent.name.split("-", 1)[-1] if path.parent.parent == CASES else ""
    return (parent + "-" if parent else "") + path.stem.replace(".", "-")


def whole(target, pattern, most):
    for path in sorted(FIXTURES.glob(pattern)):
        if path.is_file() and path.stat().st_size <= most:
            put(target, named(path), path.read_bytes())


def packets(data):
    """Link type and bytes of each packet of a libpcap file."""
    if data[:4] not in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        return
    (link,) = struct.unpack_from("<I", data, 20)
    at = 24
    while at + 16 <= len(data):
        (length,) = struct.unpack_from("<I", data, at + 8)
        yield link, data[at + 16 : at + 16 + length]
        at += 16 + length


def segments(data):
    """TCP payloads of an Ethernet or raw IPv4 capture: to the server or not, bytes."""
    client = None
    for link, packet in packets(data):
        ip = packet[{1: 14, 101: 0, 228: 0}.get(link, 14) :]
        if len(ip) < 40 or ip[0] >> 4 != 4 or ip[9] != 6:
            continue
        ip = ip[: struct.unpack_from(">H", ip, 2)[0]]
        tcp = ip[(ip[0] & 15) * 4 :]
        payload = tcp[(tcp[12] >> 4) * 4 :]
        client = client or tcp[:2]
        if payload:
            yield tcp[:2] != client, payload


def piece(kind, data):
    return struct.pack(">BI", kind, len(data)) + data


LINKS = [1, 0, 101, 113, 108, 228, 229, 276]

for target, pattern, most in [
    ("pcap", "cases/*/*.pcap", 2200),
    ("pcapng", "cases/70*/*.pcapng", 4000),
    ("har", "cases/75*/*.har", 1300),
    ("har", "heartbeat.har", 6000),
    ("flow", "heartbeat.flow", 9000),
    ("jsonl", "cases/82*/*.jsonl", 2000),
    ("jsonl", "heartbeat.json", 4000),
    ("hex", "cases/42*/*.hex", 200),
    ("hex", "cases/09*/*.b64", 200),
]:
    whole(target, pattern, most)

put("hex", "xxd", "00000000: 0000 0000 0201 000a  ........\n00000008: 0000                ..\n")
put(
    "trace",
    "call",
    "== Info: Connected\n=> Send header, 40 bytes (0x28)\n0000: POST /pkg.Service/Method HTTP/1.1\n"
    "0023: \n=> Send data, 7 bytes (0x7)\n0000: 00 00 00 00 02 0a 00                            .......\n"
    "<= Recv header, 17 bytes (0x11)\n0000: HTTP/1.1 200 OK\n<= Recv data, 7 bytes (0x7)\n"
    "0000: 02 00 00 00 02 7b 7d                            .....{}\n",
)

archive = io.BytesIO()
with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
    head = "Content-Type: application/connect+proto\r\n"
    out.writestr("raw/1_c.txt", f"POST http://a.example/pkg.Service/Method HTTP/1.1\r\n{head}\r\n\0\0\0\0\2\x0a\0")
    out.writestr("raw/1_s.txt", f"HTTP/1.1 200 OK\r\n{head}\r\n\2\0\0\0\2{{}}")
put("saz", "one-call", archive.getvalue())

for path in sorted(CASES.glob("6[0-9]*/*.pcap")) + sorted(CASES.glob("54*/*.pcap")):
    data = path.read_bytes()
    if len(data) > 2200:
        continue
    items = b"".join(struct.pack(">BH", LINKS.index(link) if link in LINKS else 0, len(p)) + p for link, p in packets(data))
    if items:
        put("packets", named(path), items)
    parts = list(segments(data))
    stream = b"".join(piece(int(to_client), payload) for to_client, payload in parts)
    is_h2 = any(payload.startswith(b"PRI * HTTP/2.0") for _, payload in parts)
    if stream:
        put("http2" if is_h2 else "http1", named(path), stream)
    if not is_h2:
        continue
    for to_client in (False, True):
        body, blocks = b"".join(p for c, p in parts if c == to_client).removeprefix(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), b""
        while len(body) >= 9:
            length = int.from_bytes(body[:3], "big")
            if body[3] == 1 and body[4] & 0x28 == 0:
                blocks += struct.pack(">H", length) + body[9 : 9 + length]
            body = body[9 + length :]
        if blocks:
            put("hpack", named(path) + ("-response" if to_client else "-request"), blocks)

for path in sorted((FIXTURES / "tls").glob("*.bin")):
    data, out, at = path.read_bytes(), b"", 0
    while at + 5 <= len(data):
        kind, length = struct.unpack_from(">BI", data, at)
        # What the peers wrote in the clear is for other tests.
        if kind < 3:
            out += piece(kind, data[at + 5 : at + 5 + length])
        at += 5 + length
    if len(out) < 9000:
        put("tls", path.stem, out)

PROTOCOL = {"connect": 0, "grpc": 2, "web": 4, "unary": 6}
for path in sorted(CASES.glob("0[0-9]*/*.bin")):
    if path.stat().st_size > 4000:
        continue
    choice = PROTOCOL["web" if "web" in path.name else "connect"] | 1
    put("envelopes", named(path), bytes([choice, 7]) + path.read_bytes())
put("envelopes", "hole-of-known-length", bytes([0xC1, 4]) + b"\0\0\0\0\x02\x0a\0\0\xff\xff\xff\xff\0\0\0\0\0")
for path in sorted(CASES.glob("1[136]*/*.bin")):
    encoding = {"br": 3, "zs": 4, "de": 2}.get(path.name[:2], 1)
    put("envelopes", named(path), bytes([1 | encoding << 3, 255]) + path.read_bytes())
    put("inflate", named(path), bytes([encoding]) + path.read_bytes()[5:])

text = b"so it goes, and goes, and goes " * 20
put("inflate", "gzip", b"\x01" + gzip.compress(text, mtime=0))
put("inflate", "gzip-twice", b"\x01" + gzip.compress(text, mtime=0) * 2)
put("inflate", "zlib", b"\x02" + zlib.compress(text))
put("inflate", "undeclared-gzip", b"\x00" + gzip.compress(text, mtime=0))
put("inflate", "snappy", b"\x05\x05\x10hello")
put("inflate", "gzip-of-zeros", b"\x01" + gzip.compress(bytes(1 << 20), mtime=0))

for path in sorted(CASES.glob("[123][0-9]*/*.bin")):
    if path.parent.name[:2] in ("18", "20", "21", "22", "23", "25", "26", "27", "28", "29", "33", "39"):
        if path.stat().st_size <= 300:
            put("wire", named(path), path.read_bytes())
            put("wire_typed", named(path), b"\1" + path.read_bytes())
for number, name in enumerate(["frame-of-a-run", "an-append"]):
    put("wire_typed", name, bytes([3 + number]) + (FIXTURES / "heartbeat.bin").read_bytes()[5:200])

put("end_stream", "empty", "{}")
put(
    "end_stream",
    "error-with-detail",
    '{"error":{"code":"unavailable","message":"try again","details":[{"type":"google.rpc.RetryInfo","value":"CgIIBQ"}]},'
    '"metadata":{"x-request-id":["a"]}}',
)
put("end_stream", "trailers", "grpc-status: 5\ngrpc-message: not%20found\ngrpc-status-details-bin: CAUSCW5vdCBmb3VuZA\n")

put("encode", "scalars", '{"optionalInt32":1,"optionalInt64":"-9","optionalDouble":"NaN","optionalBytes":"AAE=","repeatedString":["a","\\ud83d\\ude00"]}')
put("encode", "nested", '{"recursive_message":{"optional_nested_message":{"a":1}},"map_string_string":{"k":"v"},"oneof_uint32":0}')
put("encode", "well-known", '{"optionalTimestamp":"2020-02-29T23:59:59.5Z","optionalDuration":"-1.5s","optionalAny":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"3s"},"optionalStruct":{"a":[1,null]}}')
put("encode", "record", '{"frame":1,"messageType":"agent.v1.AgentServerMessage","flags":"0x00","length":4,"compressed":false,"endStream":false,"message":{"interaction_update":{"heartbeat":{}}},"findings":[]}')
put("encode", "unknown-fields", '{"$unknown":[{"number":900000,"wire":"varint","value":"7"},{"number":900001,"wire":"group","value":[{"number":1,"wire":"len","value":"AA=="}]}]}')

put("proto", "service", 'syntax = "proto3";\npackage a.b;\nimport "google/protobuf/any.proto";\nmessage M { map<string, M> m = 1; oneof o { int32 i = 2; string s = 3 [json_name = "z"]; } reserved 5 to 9, 11; }\nservice S { rpc R (stream M) returns (M) { option deprecated = true; } }\n')
put("proto", "proto2", 'syntax = "proto2";\nmessage M { required int32 a = 1 [default = -3]; optional group G = 2 { repeated E e = 1 [packed = true]; } extensions 100 to max; enum E { A = 0; B = -1; } }\nextend M { optional bytes x = 100 [default = "\\x01\\377"]; }\n')
put("proto", "edition", 'edition = "2023";\noption features.field_presence = IMPLICIT;\nmessage M { string s = 1 [features.utf8_validation = NONE]; M m = 2 [features.message_encoding = DELIMITED]; }\n')
for path in sorted(CASES.glob("3[67]*/**/*.proto")):
    put("proto", path.parent.name + "-" + path.stem, path.read_bytes())


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


message = field(1, b"M") + field(2, field(1, b"f") + b"\x18\x01\x20\x01\x28\x0b" + field(6, b".p.M"))
method = field(1, b"R") + field(2, b".p.M") + field(3, b".p.M")
file = field(1, b"a.proto") + field(2, b"p") + field(4, message) + field(6, field(1, b"S") + field(2, method))
put("descriptors", "proto3", field(1, file + field(12, b"proto3")))
put("descriptors", "proto2", field(1, file))
put("descriptors", "edition-2023", field(1, file + field(12, b"editions") + b"\x70\xe8\x07"))
put("descriptors", "twice", field(1, file) * 2)

dialect = (ROOT / "descriptors/dialect.proto").with_name("agent.dialect")
for path in sorted((ROOT / "descriptors").glob("**/*dialect*")):
    if path.suffix != ".proto":
        put("dialect", "builtin", path.read_bytes()[:4000].rsplit(b"\n}\n", 1)[0] + b"\n}\n")
put("dialect", "small", 'namespace { name: "x" field: "agent.v1.ExecServerMessage.id" }\n')

for name, expression in {
    "compare": 'kind == "exec_server_message" and length > 1000',
    "any-depth": 'message.**.text contains "foo" || not (ids.call_id in {"a", "b"})',
    "pattern": 'http.path ~ "^/agent" && findings.code matches "frame.*"',
    "bare": "compressed or endStream",
    "unknown-name": "lenght > 5",
    "unclosed": '(kind == "a',
}.items():
    put("filter", name, expression)

for target in ("program", "session", "chunks"):
    put(target, "frames", (FIXTURES / "heartbeat.bin").read_bytes()[:600])
put("session", "appends", b"".join((FIXTURES / "records/appends.bidi.jsonl").read_bytes().splitlines(True)[:6]))
put("session", "a-run", (CASES / "82-redaction/session.jsonl").read_bytes())
