//! Exchanges of which the capture lacks a head or the beginning of a body.

use super::*;

#[test]
fn lost_heads() {
    let bytes = "\\x00\\x00\\x00\\x00\\x02\\x08\\x01";
    check(&[request("request | ?", ONE)], &[&format!("request ConnectStream Proto bytes {bytes}")]);
    check(&[request("request | ? | te: trailers", ONE)], &[&format!("request Grpc Proto bytes {bytes}")]);
    check(
        &[request("request | ?", b"\x08\x01"), response("200 | application/proto", b"\x08\x02")],
        &["request ConnectUnary Proto whole \\x08\\x01", "response ConnectUnary Proto whole \\x08\\x02"],
    );
    // No head at all, and the body under way.
    check(
        &[
            vec![(Side::Response, body(b"\x44\x01\x02\x03\x04\x05"))],
            request(&format!("{POST} | application/grpc"), b""),
        ],
        &[
            "response Grpc Proto gap None",
            "response Grpc Proto bytes D\\x01\\x02\\x03\\x04\\x05",
            "response Grpc Proto CaptureEnd",
        ],
    );
}

#[test]
fn bodies_whose_beginning_is_not_there() {
    let gap = |n| (Side::Response, HttpPart::Gap(n));
    let piece = |bytes: &[u8]| (Side::Response, body(bytes));
    let one = "\\x00\\x00\\x00\\x00\\x02\\x08\\x01";
    // Two envelopes in a row, wherever they begin.
    check(
        &[vec![gap(None), piece(&[b"tail", ONE, ONE].concat())]],
        &[
            "response ConnectStream Proto gap None",
            &format!("response ConnectStream Proto bytes tail{one}{one}"),
            "response ConnectStream Proto CaptureEnd",
        ],
    );
    // One that is as long as the hole in it says.
    check(
        &[vec![
            (Side::Response, head("200 | ?")),
            gap(None),
            piece(&ONE[..6]),
            gap(Some(1)),
            piece(&[ONE, b"?"].concat()),
        ]],
        &[
            "response ConnectStream Proto gap None",
            "response ConnectStream Proto bytes \\x00\\x00\\x00\\x00\\x02\\x08",
            "response ConnectStream Proto gap Some(1)",
            &format!("response ConnectStream Proto bytes {one}?"),
            "response ConnectStream Proto CaptureEnd",
        ],
    );
    check(&[vec![gap(None), piece(b"no envelope in here, however long it is")]], &[]);
}

#[test]
fn the_path_says_what_both_sides_are() {
    check(
        &[request(&format!("{POST} | ?"), b"\x08\x01"), response("200 | ?", b"\x08\x02")],
        &["request ConnectUnary Proto whole \\x08\\x01", "response ConnectUnary Proto whole \\x08\\x02"],
    );
    check(
        &[response("200 | ?", b"\x08\x02"), request(&format!("{POST} | ?"), b"\x08\x01")],
        &["request ConnectUnary Proto whole \\x08\\x01", "response ConnectUnary Proto whole \\x08\\x02"],
    );
}
