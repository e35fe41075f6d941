use proptest::prelude::*;

use super::frame::*;
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

const SERVER: Dir = Dir::ToClient;
const CLIENT: Dir = Dir::ToServer;

fn check(script: Script, expected: &[&str]) {
    testing::check(|| Connection::new(conn()), &script, expected);
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    out.extend([kind, flags]);
    out.extend(stream.to_be_bytes());
    out.extend(payload);
    out
}

fn headers(flags: u8, stream: u32, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, flags | END_HEADERS, stream, block)
}

fn body(flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(DATA, flags, stream, payload)
}

/// `literal(0x40, …)` goes into the table, `literal(0, …)` does not.
fn literal(first: u8, name: &str, value: &str) -> Vec<u8> {
    [&[first, name.len() as u8], name.as_bytes(), &[value.len() as u8], value.as_bytes()].concat()
}

/// POST, http, and a path that goes into the table.
fn request(path: &str) -> Vec<u8> {
    [&[0x83, 0x86, 0x44, path.len() as u8], path.as_bytes()].concat()
}

const OK: &[u8] = &[0x88];

fn client(frames: &[Vec<u8>]) -> (Dir, StreamPart) {
    to_server(&[&PREFACE[..], &frame(SETTINGS, 0, 0, b""), &frames.concat()].concat())
}

fn server(frames: &[Vec<u8>]) -> (Dir, StreamPart) {
    to_client(
        &[frame(SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 100]), frame(SETTINGS, ACK, 0, b""), frames.concat()]
            .concat(),
    )
}

#[test]
fn interleaved_with_trailers() {
    check(
        vec![
            client(&[
                headers(0, 1, &request("/a")),
                headers(END_STREAM, 3, &request("/b")),
                body(0, 1, b"one"),
                frame(WINDOW_UPDATE, 0, 0, &[0, 0, 1, 0]),
                frame(0x42, 0xff, 0, b"unknown"),
                body(END_STREAM, 1, b""),
            ]),
            server(&[
                headers(0, 3, &[0x48, 3, b'1', b'0', b'3']),
                headers(0, 3, OK),
                body(0, 3, b"th"),
                headers(0, 1, OK),
                body(0, 3, b"ree"),
                headers(END_STREAM, 3, &literal(0, "grpc-status", "0")),
                body(END_STREAM, 1, b"uno"),
            ]),
        ],
        &[
            "1> POST /a",
            "3> POST /b",
            "3> Complete",
            "1> \"one\"",
            "1> Complete",
            "3< 200",
            "3< \"th\"",
            "1< 200",
            "3< \"ree\"",
            "3< trailers grpc-status=0",
            "3< Complete",
            "1< \"uno\"",
            "1< Complete",
        ],
    );
}

#[test]
fn padding_priority_and_continuation() {
    let block = request("/a");
    let padded = [&[2, 0, 0, 0, 0, 15], &block[..1], &[0, 0]].concat();
    check(
        vec![client(&[
            frame(HEADERS, END_STREAM | PADDED | PRIORITY_FLAG, 1, &padded),
            frame(CONTINUATION, 0, 1, &block[1..3]),
            frame(CONTINUATION, 0, 1, b""),
            frame(CONTINUATION, END_HEADERS, 1, &block[3..]),
            headers(0, 3, &request("/b")),
            body(PADDED, 3, &[3, b'x', b'y', 0, 0, 0]),
            body(PADDED, 3, &[2, 0, 0]),
            body(PADDED | END_STREAM, 3, &[0, b'z']),
        ])],
        &["1> POST /a", "1> Complete", "3> POST /b", "3> \"xyz\"", "3> Complete"],
    );
}

#[test]
fn what_breaks_http() {
    let begin = ["1> POST /a"];
    let check = |frames: &[Vec<u8>], rest: &[&str]| {
        let frames = [&[headers(0, 1, &request("/a"))], frames].concat();
        check(vec![client(&frames)], &[&begin[..], rest].concat());
    };
    check(
        &[body(PADDED, 1, &[9, b'x']), body(END_STREAM, 1, b"y")],
        &["1> \"y\"", "1> Complete", "! net.http"],
    );
    // Not a frame: found again after it.
    let after = [body(0, 1, b"ab"), body(END_STREAM, 1, b"c")].concat();
    check(&[frame(DATA, 0, 0, b"?"), after], &["1> gap", "1> \"abc\"", "1> Complete", "! net.http"]);
    check(
        &[headers(0, 1, &request("/a")), body(END_STREAM, 1, b"y")],
        &["1> trailers ", "1> \"y\"", "1> Complete", "! net.http"],
    );
    check(
        &[frame(HEADERS, 0, 3, &[0x83]), body(END_STREAM, 1, b"y")],
        &["3> POST ? lost 1", "1> \"y\"", "1> Complete", "3> CaptureEnd", "! net.http"],
    );
    check(
        &[headers(END_STREAM, 3, &[0x83, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])],
        &["3> POST ? lost 1", "3> Complete", "1> CaptureEnd", "! net.http"],
    );
    check(
        &[headers(END_STREAM, 3, &[&[0x83][..], &[0x84; 5_000]].concat())],
        &["3> POST / lost 3989", "3> Complete", "1> CaptureEnd", "! limit.reached", "! limit.reached"],
    );
}

#[test]
fn ends() {
    let open = client(&[
        headers(0, 1, &request("/a")),
        headers(0, 3, &request("/b")),
        headers(0, 5, &request("/c")),
    ]);
    let begin = ["1> POST /a", "3> POST /b", "5> POST /c", "1< 200"];
    let answer = headers(0, 1, OK);
    let reset = frame(RST_STREAM, 0, 1, &[0, 0, 0, 8]);
    let late = body(0, 1, b"late");
    let go_away = frame(GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 0, b'x']);
    check(
        vec![open.clone(), server(&[answer.clone(), reset, late, go_away]), (SERVER, StreamPart::Fin)],
        &[
            &begin[..],
            &[
                "1> Reset { code: 8 }",
                "1< Reset { code: 8 }",
                "5> Closed",
                "5< Closed",
                "3< Closed",
                "3> CaptureEnd",
            ],
        ]
        .concat(),
    );
    check(
        vec![open, server(&[answer])],
        &[
            &begin[..],
            &[
                "1> CaptureEnd",
                "3> CaptureEnd",
                "5> CaptureEnd",
                "1< CaptureEnd",
                "3< CaptureEnd",
                "5< CaptureEnd",
            ],
        ]
        .concat(),
    );
}

#[test]
fn content_length_tells_the_end_too() {
    let answer = headers(0, 1, &[OK, &literal(0, "content-length", "3")].concat());
    let whole = [answer.clone(), body(0, 1, b"abc")];
    check(vec![server(&whole), (SERVER, StreamPart::Fin)], &["1< 200", "1< \"abc\"", "1< Complete"]);
    let part = [answer, body(0, 1, b"ab")];
    check(vec![server(&part), (SERVER, StreamPart::Fin)], &["1< 200", "1< \"ab\"", "1< Closed"]);
}

#[test]
fn push_is_decoded_and_not_followed() {
    let promise = [&[0, 0, 0, 2], &request("/p")[..]].concat();
    check(
        vec![server(&[
            frame(PUSH_PROMISE, END_HEADERS, 1, &promise),
            headers(0, 2, &[&literal(0x40, "a", "b"), OK].concat()),
            body(END_STREAM, 2, b"pushed"),
            headers(END_STREAM, 1, &[0x88, 0xbe, 0xbf]),
        ])],
        &["1< 200", "1< Complete", "! net.http"],
    );
}

#[test]
fn one_side_or_the_wrong_way_round() {
    let answer = [headers(0, 1, OK), body(END_STREAM, 1, b"x")];
    check(vec![server(&answer)], &["1< 200", "1< \"x\"", "1< Complete"]);
    let ask = [headers(END_STREAM, 1, &request("/a"))];
    let (_, asked) = client(&ask);
    let (_, answered) = server(&answer);
    check(
        vec![(SERVER, asked), (CLIENT, answered)],
        &["1> POST /a", "1> Complete", "1< 200", "1< \"x\"", "1< Complete"],
    );
    check(
        vec![to_server(&answer.concat()), to_client(&[ask.concat(), frame(PING, 0, 0, &[0; 8])].concat())],
        &["1< 200", "1< \"x\"", "1< Complete", "1> POST /a", "1> Complete"],
    );
}

#[test]
fn joined_late() {
    let late = [&[0x83, 0x86, 0xbf], &literal(0x40, "x-new", "v")[..]].concat();
    check(
        vec![
            to_server(
                &[
                    body(0, 3, b"half"),
                    headers(END_STREAM, 5, &late),
                    headers(END_STREAM, 7, &[0x83, 0xbe, 0xc1]),
                ]
                .concat()[5..],
            ),
            to_client(
                &[body(0, 3, b"abc"), headers(END_STREAM, 3, &literal(0, "grpc-status", "0"))].concat(),
            ),
        ],
        &[
            "5> POST ? lost 1",
            "5> Complete",
            "7> POST ? lost 1",
            "7> Complete",
            "3< gap",
            "3< \"abc\"",
            "3< trailers grpc-status=0",
            "3< Complete",
            "5< CaptureEnd",
            "7< CaptureEnd",
            "! net.hpack-lost",
        ],
    );
}

#[test]
fn a_single_frame_must_do_at_the_end() {
    check(vec![to_client(&body(0, 3, b"abc"))], &["3< gap", "3< \"abc\"", "3< CaptureEnd"]);
    check(vec![to_client(&body(0, 3, b"abc")[..11])], &["3< gap", "3< \"ab\"", "3< CaptureEnd"]);
}

#[test]
fn holes() {
    let begin = ["1< 200"];
    let frames = server(&[headers(0, 1, OK)]);
    let five = body(0, 1, b"abcde");
    let end = body(END_STREAM, 1, b"z");
    let check_hole = |parts: &[(Dir, StreamPart)], rest: &[&str]| {
        check([std::slice::from_ref(&frames), parts].concat(), &[&begin[..], rest].concat());
    };
    let gap = |n| (SERVER, StreamPart::Gap(n));
    let inside = [to_client(&five[..10]), gap(2), to_client(&[&five[12..], &end].concat())];
    check_hole(&inside, &["1< \"a\"", "1< gap 2", "1< \"dez\"", "1< Complete"]);
    check_hole(
        &[to_client(&five[..10]), gap(4), to_client(&end)],
        &["1< \"a\"", "1< gap 4", "1< \"z\"", "1< Complete"],
    );
    let across = ["1< \"a\"", "1< gap", "1< \"abcdez\"", "1< Complete"];
    let rest = [&b"tail"[..], &five, &end].concat();
    check_hole(&[to_client(&five[..10]), gap(40), to_client(&rest)], &across);
    check_hole(&[to_client(&five[..10]), (SERVER, StreamPart::Lost), to_client(&rest)], &across);
    let padded = body(PADDED, 1, &[2, b'x', b'y', 0, 0]);
    let in_padding = [to_client(&padded[..11]), gap(2), to_client(&[&padded[13..], &end].concat())];
    check_hole(&in_padding, &["1< \"x\"", "1< gap 1", "1< \"z\"", "1< Complete"]);
    let pad_length = [to_client(&padded[..9]), gap(3), to_client(&[&padded[12..], &end].concat())];
    check_hole(&pad_length, &["1< gap", "1< \"z\"", "1< Complete"]);
}

#[test]
fn holes_in_header_blocks() {
    // The table: a=b first, then what the hole hides, then c=d.
    let first = headers(0, 1, &[OK, &literal(0x40, "a", "b")].concat());
    let holed = headers(0, 3, &[OK, &literal(0x40, "e", "f")].concat());
    let third = headers(0, 5, &[&[0x88][..], &literal(0x40, "c", "d"), &[0xbe, 0xc0]].concat());
    check(
        vec![server(&[first, holed[..11].to_vec()]), (SERVER, StreamPart::Gap(4)), to_client(&third)],
        &[
            "1< 200",
            "3< 200 lost 1",
            "5< 200 lost 1",
            "1< CaptureEnd",
            "3< CaptureEnd",
            "5< CaptureEnd",
            "! net.hpack-lost",
        ],
    );
}

#[test]
fn upgraded() {
    let key = StreamKey { conn: 7, stream: 4 };
    let switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
    let (_, answer) = server(&[headers(0, 1, OK), body(END_STREAM, 1, b"x"), headers(END_STREAM, 3, OK)]);
    let expected =
        ["3> POST /b", "3> Complete", "4< 200", "4< \"x\"", "4< Complete", "3< 200", "3< Complete"];
    let ask = client(&[headers(END_STREAM, 3, &request("/b"))]);
    let script = vec![ask.clone(), (SERVER, answer.clone())];
    testing::check(|| Connection::upgraded(conn(), key), &script, &expected);
    let script = vec![ask, (SERVER, data(switch)), (SERVER, answer)];
    testing::check(|| Connection::upgraded(conn(), key), &script, &expected);
}

#[test]
fn ended_streams_are_forgotten_in_time() {
    let mut connection = Connection::new(conn());
    let count = 2_000;
    let ids = || (0..count).map(|i| i * 2 + 1);
    let asks: Vec<_> = ids().map(|id| headers(END_STREAM, id, &request("/"))).collect();
    let answers: Vec<_> = ids().map(|id| headers(END_STREAM, id, OK)).collect();
    let (events, findings) =
        testing::run(&mut connection, &vec![client(&asks), server(&answers)], usize::MAX);
    assert_eq!((events.len(), findings.len()), (count as usize * 4, 0));
    assert!(connection.streams.begun(Side::Request).is_empty());
    assert!(ids().filter(|id| connection.streams.knows(*id)).count() <= 256);
}

proptest! {
    #[test]
    fn no_bytes_are_too_odd(pieces in proptest::collection::vec(
        prop_oneof![
            Just(client(&[headers(0, 1, &request("/a"))]).1), Just(server(&[headers(0, 1, OK)]).1),
            Just(data(&body(0, 1, b"abcdefg"))), Just(data(&body(PADDED | END_STREAM, 3, &[1, 2, 0]))),
            Just(data(&frame(HEADERS, 0, 3, &[0x83]))), Just(data(&frame(CONTINUATION, END_HEADERS, 3, &[0xbe]))),
            Just(data(&frame(SETTINGS, 0, 0, &[0, 1, 0, 0, 0, 0]))), Just(data(&frame(RST_STREAM, 0, 1, &[0; 4]))),
            Just(StreamPart::Lost),
            (0u64..30).prop_map(StreamPart::Gap),
            proptest::collection::vec(any::<u8>(), 0..30).prop_map(|b| data(&b)),
        ],
        0..12,
    ), turn: u16) {
        let dir = |i: usize| if turn >> i & 1 == 0 { CLIENT } else { SERVER };
        let script: Script = pieces.into_iter().enumerate().map(|(i, part)| (dir(i), part)).collect();
        let whole = testing::run(&mut Connection::new(conn()), &script, usize::MAX);
        let single = testing::run(&mut Connection::new(conn()), &script, 1);
        prop_assert_eq!(whole, single);
    }
}
