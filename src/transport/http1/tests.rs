use super::*;
use crate::transport::testing::{self, Parser, Script, conn, data, to_client, to_server};

impl Parser for Connection {
    fn push(&mut self, dir: Dir, part: StreamPart, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        Connection::push(self, dir, part, cx, out);
    }

    fn finish(&mut self, cx: &mut Cx<'_>, out: &mut Vec<HttpEvent>) {
        Connection::finish(self, cx, out);
    }
}

fn check(script: Script, expected: &[&str]) {
    testing::check(|| Connection::new(conn()), &script, expected);
}

const POST: &[u8] = b"POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
const GET: &[u8] = b"GET /b HTTP/1.1\r\nHost: h\r\n\r\n";
const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const SERVER: Dir = Dir::ToClient;
const CLIENT: Dir = Dir::ToServer;

#[test]
fn keep_alive() {
    check(
        vec![to_server(POST), to_client(OK), to_server(GET), to_client(OK)],
        &[
            "1> POST /a",
            "1> \"abc\"",
            "1> Complete",
            "1< 200",
            "1< \"ok\"",
            "1< Complete",
            "2> GET /b",
            "2> Complete",
            "2< 200",
            "2< \"ok\"",
            "2< Complete",
        ],
    );
}

#[test]
fn pipelining_head_and_bodiless() {
    let head = b"HEAD /c HTTP/1.1\r\n\r\n\r\n";
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n";
    check(
        vec![to_server(&[head, GET, GET].concat()), to_client(answer)],
        &[
            "1> HEAD /c",
            "1> Complete",
            "2> GET /b",
            "2> Complete",
            "3> GET /b",
            "3> Complete",
            "1< 200",
            "1< Complete",
            "2< 204",
            "2< Complete",
            "3< 304",
            "3< Complete",
        ],
    );
}

#[test]
fn informational_responses_are_skipped() {
    let answer = [b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", OK].concat();
    check(
        vec![to_server(&POST[..POST.len() - 3]), to_client(&answer), to_server(b"abc")],
        &["1> POST /a", "1< 200", "1< \"ok\"", "1< Complete", "1> \"abc\"", "1> Complete"],
    );
}

#[test]
fn chunks_and_trailers() {
    let body = b"3;x=\"y\"\r\nabc\r\n04\r\ndefg\r\n0\r\nX-T: 1\r\ny: 2\r\n\r\n";
    check(
        vec![to_server(GET), to_client(&[CHUNKED, body, OK].concat())],
        &[
            "1> GET /b",
            "1> Complete",
            "1< 200",
            "1< \"abcdefg\"",
            "1< trailers x-t=1 y=2",
            "1< Complete",
            "2< 200",
            "2< \"ok\"",
            "2< Complete",
        ],
    );
}

#[test]
fn bare_line_feeds() {
    check(
        vec![
            to_server(b"GET / HTTP/1.0\n\n"),
            to_client(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nab\n0\n\n"),
        ],
        &["1> GET /", "1> Complete", "1< 200", "1< \"ab\"", "1< Complete"],
    );
}

#[test]
fn body_until_close() {
    let head = b"HTTP/1.0 200 OK\r\n\r\nabc";
    let begin = ["1> GET /b", "1> Complete", "1< 200", "1< \"abc\""];
    let ends = [
        (StreamPart::Fin, "1< Complete"),
        (StreamPart::Reset, "1< Closed"),
        (StreamPart::CaptureEnd, "1< CaptureEnd"),
    ];
    for (part, end) in ends {
        let expected = [&begin[..], &[end]].concat();
        check(vec![to_server(GET), to_client(head), (SERVER, part)], &expected);
    }
}

#[test]
fn ends_before_the_end() {
    check(
        vec![
            to_server(GET),
            to_client(&OK[..OK.len() - 1]),
            (SERVER, StreamPart::Fin),
            to_server(&POST[..POST.len() - 1]),
        ],
        &[
            "1> GET /b",
            "1> Complete",
            "1< 200",
            "1< \"o\"",
            "1< Closed",
            "2> POST /a",
            "2> \"ab\"",
            "2> CaptureEnd",
        ],
    );
    check(vec![to_server(GET), (SERVER, StreamPart::Fin)], &["1> GET /b", "1> Complete", "1< Closed"]);
    check(
        vec![to_client(b"HTTP/1.1 200 OK\r\nA: b"), (SERVER, StreamPart::Fin)],
        &["1< 200 lost 1", "1< gap", "1< Closed", "! net.http"],
    );
}

#[test]
fn one_side_or_the_wrong_way_round() {
    check(
        vec![to_client(&[OK, OK].concat())],
        &["1< 200", "1< \"ok\"", "1< Complete", "2< 200", "2< \"ok\"", "2< Complete"],
    );
    check(vec![to_server(GET), to_server(GET)], &["1> GET /b", "1> Complete", "2> GET /b", "2> Complete"]);
    check(
        vec![to_client(GET), to_server(OK)],
        &["1> GET /b", "1> Complete", "1< 200", "1< \"ok\"", "1< Complete"],
    );
}

#[test]
fn response_captured_first() {
    let (early, late) = OK.split_at(OK.len() - 1);
    let paired = ["1< 200", "1< \"o\"", "1> GET /b", "1> Complete", "1< \"k\"", "1< Complete"];
    check(vec![to_client(early), to_server(GET), to_client(late)], &paired);
    let next = ["1< 200", "1< \"ok\"", "1< Complete", "2> GET /b", "2> Complete", "2< CaptureEnd"];
    check(vec![to_client(OK), to_server(GET)], &next);
    let same = ["1< 200", "1< \"ok\"", "1< Complete", "1> GET /b", "1> Complete"];
    testing::check(|| Connection::new(conn()).from_start(), &vec![to_client(OK), to_server(GET)], &same);
}

fn gap(n: u64) -> (Dir, StreamPart) {
    (SERVER, StreamPart::Gap(n))
}

#[test]
fn holes_of_known_length() {
    let begin = ["1> GET /b", "1> Complete", "1< 200"];
    let check_holes = |parts: Vec<(Dir, StreamPart)>, rest: &[&str]| {
        check([vec![to_server(GET)], parts].concat(), &[&begin[..], rest].concat());
    };
    let ten = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab";
    check_holes(
        vec![to_client(ten), gap(5), to_client(b"xyz")],
        &["1< \"ab\"", "1< gap 5", "1< \"xyz\"", "1< Complete"],
    );
    check_holes(
        vec![to_client(ten), gap(8), to_client(OK)],
        &["1< \"ab\"", "1< gap 8", "1< Complete", "2< 200", "2< \"ok\"", "2< Complete"],
    );
    // The hole takes the next head with it.
    check_holes(
        vec![to_client(ten), gap(20), to_client(OK)],
        &["1< \"ab\"", "1< gap 8", "1< Complete", "2< 200", "2< \"ok\"", "2< Complete"],
    );
    let chunk = [CHUNKED, b"5\r\nab"].concat();
    let end = b"0\r\n\r\n";
    check_holes(
        vec![to_client(&chunk), gap(2), to_client(b"e\r\n0\r\n\r\n")],
        &["1< \"ab\"", "1< gap 2", "1< \"e\"", "1< Complete"],
    );
    check_holes(vec![to_client(&chunk), gap(5), to_client(end)], &["1< \"ab\"", "1< gap 3", "1< Complete"]);
    check_holes(
        vec![to_client(&chunk), gap(4), to_client(b"\n0\r\n\r\n")],
        &["1< \"ab\"", "1< gap 3", "1< Complete"],
    );
}

#[test]
fn holes_across_chunks() {
    let chunk = [CHUNKED, b"5\r\nab"].concat();
    let begin = ["1< 200", "1< \"ab\"", "1< gap"];
    let rest = b"rest\r\n3\r\nxyz\r\n0\r\n\r\n";
    let found = [&begin[..], &["1< \"restxyz\"", "1< Complete"]].concat();
    let rested = [&begin[..], &["1< \"xyz\"", "1< Complete"]].concat();
    check(vec![to_client(&chunk), gap(40), to_client(rest)], &found);
    check(vec![to_client(&chunk), (SERVER, StreamPart::Lost), to_client(rest)], &found);
    // The hole ends with a chunk.
    check(vec![to_client(&chunk), gap(40), to_client(&rest[6..])], &rested);
    // Nothing of the message is left.
    let next = [&begin[..], &["1< Complete", "2< 200", "2< \"ok\"", "2< Complete"]].concat();
    check(vec![to_client(&chunk), gap(40), to_client(OK)], &next);
    check(
        vec![to_client(&chunk), gap(40), to_client(b"rest"), (SERVER, StreamPart::Fin)],
        &[&begin[..], &["1< \"rest\"", "1< Closed"]].concat(),
    );
}

#[test]
fn holes_in_heads() {
    let salvaged = ["1> POST /a lost 1", "1> gap", "1> Complete", "2> GET /b", "2> Complete"];
    check(vec![to_server(&POST[..30]), (CLIENT, StreamPart::Gap(20)), to_server(GET)], &salvaged);
    check(
        vec![to_server(&POST[..7]), (CLIENT, StreamPart::Gap(20)), to_server(GET)],
        &["1> GET /b", "1> Complete"],
    );
    // A response passed over costs its own request, not the pairs that follow.
    check(
        vec![to_server(GET), gap(50), to_server(POST), to_client(OK)],
        &[
            "1> GET /b",
            "1> Complete",
            "2> POST /a",
            "2> \"abc\"",
            "2> Complete",
            "1< gap",
            "1< Complete",
            "2< 200",
            "2< \"ok\"",
            "2< Complete",
        ],
    );
}

#[test]
fn joined_in_mid_body() {
    let rest = b"xyz\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    check(
        vec![to_client(&[rest, OK].concat()), to_server(GET)],
        &[
            "1< gap",
            "1< \"xyzabcde\"",
            "1< Complete",
            "2< 200",
            "2< \"ok\"",
            "2< Complete",
            "3> GET /b",
            "3> Complete",
            "3< CaptureEnd",
        ],
    );
    check(
        vec![to_client(rest), to_server(GET), to_client(OK)],
        &[
            "1< gap",
            "1< \"xyzabcde\"",
            "1< Complete",
            "2> GET /b",
            "2> Complete",
            "2< 200",
            "2< \"ok\"",
            "2< Complete",
        ],
    );
    check(
        vec![to_client(b"no chunk and no head here"), to_client(OK)],
        &["1< gap", "1< \"no chunk and no head here\"", "1< Complete", "2< 200", "2< \"ok\"", "2< Complete"],
    );
}

#[test]
fn what_breaks_http() {
    check(
        vec![to_client(&[CHUNKED, b"2\r\nabc\r\n"].concat())],
        &["1< 200", "1< \"ab\"", "1< gap", "1< CaptureEnd", "! net.http"],
    );
    check(
        vec![to_client(&[CHUNKED, b"zz\r\n2\r\nab\r\n0\r\n\r\n"].concat())],
        &["1< 200", "1< gap", "1< \"ab\"", "1< Complete", "! net.http"],
    );
    check(
        vec![to_client(&[OK, b"junk ", OK].concat())],
        &["1< 200", "1< \"ok\"", "1< Complete", "2< 200", "2< \"ok\"", "2< Complete", "! net.http"],
    );
    let long = [b"GET / HTTP/1.1\r\nA: ", [b'a'; 5_000].as_slice(), b"\r\n\r\n", GET].concat();
    check(vec![to_server(&long)], &["1> GET /b", "1> Complete", "! limit.reached"]);
}

/// What a connection becomes, and what is left of both directions.
fn check_upgrade(script: Script, expected: Option<Upgrade>, events: usize, left: [&[u8]; 2]) {
    for step in [1, 3, usize::MAX] {
        let mut connection = Connection::new(conn());
        let (out, findings) = testing::run(&mut connection, &script, step);
        assert_eq!((connection.take_upgrade(), out.len(), findings.len()), (expected, events, 0));
        for (dir, left) in [CLIENT, SERVER].into_iter().zip(left) {
            let mut bytes = Vec::new();
            while let Some(part) = connection.leftover(dir) {
                if let StreamPart::Data { bytes: piece, .. } = part {
                    bytes.extend_from_slice(&piece);
                }
            }
            assert_eq!(bytes, left);
        }
    }
}

#[test]
fn upgrades() {
    let key = StreamKey { conn: 7, stream: 1 };
    let h2c = Some(Upgrade::H2c(Some(key)));
    let ask = b"GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    let switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n...";
    let whole = [&switch[..], b"frames"].concat();
    check_upgrade(vec![to_server(ask), to_client(&whole), to_server(preface)], h2c, 2, [preface, b"frames"]);
    // The preface came before the answer, or the answer is not in the capture.
    check_upgrade(vec![to_server(ask), to_server(preface), to_client(&whole)], h2c, 2, [preface, &whole]);
    check_upgrade(vec![to_server(preface)], Some(Upgrade::H2c(None)), 0, [preface, b""]);
    let other = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    let whole = [&other[..], b"frames"].concat();
    check_upgrade(vec![to_server(GET), to_client(&whole)], Some(Upgrade::Tunnel), 3, [b"", b"frames"]);
    // Refused.
    check_upgrade(vec![to_server(ask), to_client(OK), to_server(GET)], None, 8, [b"", b""]);
}

#[test]
fn tunnels() {
    let connect = b"CONNECT h:1 HTTP/1.1\r\nHost: h:1\r\n\r\n";
    let yes = b"HTTP/1.1 200 Connected\r\n\r\n";
    let inner = [&yes[..], b"inner"].concat();
    let tunnel = Some(Upgrade::Tunnel);
    check_upgrade(
        vec![to_server(connect), to_client(&inner), to_server(b"hello")],
        tunnel,
        4,
        [b"hello", b"inner"],
    );
    check_upgrade(
        vec![to_server(connect), to_server(b"hello"), to_client(&inner)],
        tunnel,
        4,
        [b"hello", b"inner"],
    );
    check_upgrade(vec![to_server(connect), to_server(b"hello")], tunnel, 2, [b"hello", b""]);
    let no = b"HTTP/1.1 407 No\r\nContent-Length: 1\r\n\r\nx";
    check_upgrade(vec![to_server(connect), to_client(no), to_server(GET)], None, 8, [b"", b""]);
}

#[test]
fn no_more_waits_than_the_limit() {
    let script = vec![(CLIENT, data(&GET.repeat(100))), (SERVER, data(OK))];
    let (events, _) = testing::run(&mut Connection::new(conn()), &script, usize::MAX);
    assert_eq!(events.iter().filter(|e| e.side == Side::Response).map(|e| e.key.stream).max(), Some(100));
}

proptest::proptest! {
    #[test]
    fn no_bytes_are_too_odd(pieces in proptest::collection::vec(
        proptest::prop_oneof![
            proptest::strategy::Just(data(POST)), proptest::strategy::Just(data(OK)), proptest::strategy::Just(data(CHUNKED)),
            proptest::strategy::Just(data(b"3\r\nabc\r\n")), proptest::strategy::Just(data(b"\r\n0\r\n\r\n")),
            proptest::strategy::Just(StreamPart::Lost),
            proptest::strategy::Strategy::prop_map(0u64..40, StreamPart::Gap),
            proptest::strategy::Strategy::prop_map(proptest::collection::vec(proptest::arbitrary::any::<u8>(), 0..30), |b| data(&b)),
        ],
        0..12,
    ), turn: u16) {
        let dir = |i: usize| if turn >> i & 1 == 0 { CLIENT } else { SERVER };
        let script: Script = pieces.into_iter().enumerate().map(|(i, part)| (dir(i), part)).collect();
        let whole = testing::run(&mut Connection::new(conn()), &script, usize::MAX);
        let single = testing::run(&mut Connection::new(conn()), &script, 1);
        proptest::prop_assert_eq!(whole, single);
    }
}
