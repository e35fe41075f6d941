//! A capture while it is made: tcpdump on the loopback, piped into the program.
//! Skips, and says why, without tcpdump or the rights to capture.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use crate::run::fixture;

const PROTO: &str = "cases/54-http1-chunked-trailers/proto";
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends with the test, whatever becomes of it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// tcpdump as people call it, once it listens; or why it does not.
fn tcpdump(port: u16) -> Result<Running, String> {
    let child = Command::new("tcpdump")
        .args(["-i", "lo", "-U", "-w", "-", "tcp", "port", &port.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut running = Running(child.map_err(|e| format!("tcpdump does not start: {e}"))?);
    let mut stderr = BufReader::new(running.0.stderr.take().expect("a pipe"));
    let mut said = String::new();
    while stderr.read_line(&mut said).is_ok_and(|n| n > 0) {
        if said.contains("listening on") {
            // What it says at its end must not stop it.
            std::thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
            return Ok(running);
        }
    }
    Err(format!("tcpdump does not capture: {}", said.trim()))
}

/// The records as they come.
fn rpcshark(input: Stdio) -> (Running, Receiver<Value>) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rpcshark"))
        .args(["decode", "--format", "jsonl", "--no-builtin", "-I"])
        .arg(fixture(PROTO))
        .arg("-")
        .stdin(input)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let (sender, records) = channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let record = serde_json::from_str(&line).expect("a record is JSON");
            if sender.send(record).is_err() {
                return;
            }
        }
    });
    (Running(child), records)
}

fn envelope(flags: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short");
    [&[flags], &length.to_be_bytes()[..], payload].concat()
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// Reads a request with its body, of known length.
fn read_request(stream: &mut TcpStream, body: usize) {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|w| w == b"\r\n\r\n") {
        let mut one = [0];
        stream.read_exact(&mut one).expect("a head");
        bytes.extend(one);
    }
    stream.read_exact(&mut vec![0; body]).expect("a body");
}

#[test]
fn each_frame_is_shown_before_the_next_is_sent() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let mut capture = match tcpdump(port) {
        Ok(capture) => capture,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let (_program, records) = rpcshark(capture.0.stdout.take().expect("a pipe").into());
    let next = |what: &str| records.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{what}: {e}"));

    let mut client = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let (mut server, _) = listener.accept().expect("a client");
    let body = envelope(0, b"\x0a\x01q");
    let head = format!(
        "POST /qa.v1.QaService/Stream HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\
         Content-Type: application/connect+proto\r\nConnect-Protocol-Version: 1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    client.write_all(&[head.as_bytes(), &body].concat()).expect("sent");
    read_request(&mut server, body.len());
    let request = next("the request");
    assert_eq!((&request["direction"], &request["message"]["q"]), (&"request".into(), &"q".into()));

    let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/connect+proto\r\nTransfer-Encoding: chunked\r\n\r\n";
    server.write_all(head.as_bytes()).expect("sent");
    for word in ["one", "two", "three"] {
        let message = [&[0x72, word.len() as u8], word.as_bytes()].concat();
        server.write_all(&chunk(&envelope(0, &message))).expect("sent");
        // The next one is sent only when this one has been shown: nothing waits for the end.
        assert_eq!(next(word)["message"]["str"], word);
    }
    server.write_all(&chunk(&envelope(2, b"{}"))).expect("sent");
    assert_eq!(next("the end")["kind"], "end_stream");
}
