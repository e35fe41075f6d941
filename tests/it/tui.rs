//! The terminal interface over fixtures: keys in, screens out, as plain text.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

use rpcshark::base::Limits;
use rpcshark::base::text::is_unsafe;
use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::pdu::Protocol;
use rpcshark::pipeline::{Config, Expand, Window};
use rpcshark::schema::{self, Sources};
use rpcshark::source::{Options, Reader};
use rpcshark::view::text::TimeStyle;
use rpcshark::view::tui::{App, Column, Columns, Frames, KEYS, Out, Palette, Size, text_of};

use crate::run::fixture;

fn config(show_secrets: bool) -> Config {
    let sources = Sources {
        roots: Vec::new(),
        protos: Vec::new(),
        descriptor_sets: Vec::new(),
        builtin: true,
        allow_missing_imports: false,
        cache: None,
    };
    let mut schema = schema::load(&sources).expect("the built-in schema").schema;
    let mut plan = Plan::default();
    dialect::compile(&dialect::builtin(), Mode::Lenient, &mut schema, &mut plan)
        .expect("the built-in dialect");
    Config {
        schema,
        plan,
        limits: Limits::default(),
        as_type: None,
        map: Default::default(),
        encoding: None,
        raw: Protocol::ConnectStream,
        decode_as: Vec::new(),
        keylog: Vec::new(),
        expand: Expand::Carrier,
        show_secrets,
        emit_defaults: false,
        json_names: false,
        filter: None,
        threads: 1,
        correlate: true,
    }
}

/// The interface over one capture, and the screen it is on.
struct Desk {
    app: App<Window>,
    terminal: Terminal<TestBackend>,
    asked: Vec<Out>,
}

impl Desk {
    fn open(path: PathBuf, width: u16, height: u16) -> Self {
        Self::open_with(path, width, height, Column::USUAL)
    }

    fn open_with(path: PathBuf, width: u16, height: u16, columns: &str) -> Self {
        let reader = Reader::open(&path, &Options::default()).expect("a capture");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let window = Window::open(config(false), name, false, std::iter::once(reader));
        let columns =
            Columns { list: columns.split(',').map(Column::named).collect(), time: TimeStyle::Relative };
        let app = App::new(window, columns, Palette { color: true }, Size { width, height });
        let terminal = Terminal::new(TestBackend::new(width, height)).expect("a screen");
        let mut desk = Self { app, terminal, asked: Vec::new() };
        desk.settle();
        desk
    }

    /// Waits until nothing more is coming.
    fn settle(&mut self) {
        let began = Instant::now();
        while self.app.refresh() || self.app.is_waiting() {
            assert!(began.elapsed() < Duration::from_secs(60), "it ends");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.asked.extend(self.app.key(KeyEvent::new(code, modifiers)));
        self.settle();
    }

    /// Types: a character each, `<Enter>` and the like by name, `<^D>` with Control.
    fn keys(&mut self, text: &str) -> &mut Self {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            if let Some((name, after)) = rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
                let control = name.strip_prefix('^').and_then(|n| n.chars().next());
                match (control, name) {
                    (Some(c), _) => self.key(KeyCode::Char(c.to_ascii_lowercase()), KeyModifiers::CONTROL),
                    (_, "Enter") => self.key(KeyCode::Enter, KeyModifiers::NONE),
                    (_, "Esc") => self.key(KeyCode::Esc, KeyModifiers::NONE),
                    (_, "Tab") => self.key(KeyCode::Tab, KeyModifiers::NONE),
                    (_, "Down") => self.key(KeyCode::Down, KeyModifiers::NONE),
                    (_, "Right") => self.key(KeyCode::Right, KeyModifiers::NONE),
                    (_, other) => panic!("no key {other}"),
                }
                rest = after;
                continue;
            }
            self.key(KeyCode::Char(c), KeyModifiers::NONE);
            rest = &rest[c.len_utf8()..];
        }
        self
    }

    fn click(&mut self, x: u16, y: u16) {
        let kind = MouseEventKind::Down(MouseButton::Left);
        self.asked.extend(self.app.mouse(MouseEvent {
            kind,
            column: x,
            row: y,
            modifiers: KeyModifiers::NONE,
        }));
        self.settle();
    }

    fn resize(&mut self, width: u16, height: u16) {
        self.terminal.backend_mut().resize(width, height);
        self.terminal.autoresize().expect("another size");
        self.app.resize(Size { width, height });
    }

    fn screen(&mut self) -> String {
        self.settle();
        let app = &mut self.app;
        let draw = |frame: &mut ratatui::Frame<'_>| {
            app.draw(frame.buffer_mut());
        };
        self.terminal.draw(draw).expect("a drawing");
        let text = text_of(self.terminal.backend().buffer(), self.app.state.size);
        let raw = text.chars().find(|c| *c != '\n' && is_unsafe(*c));
        assert!(raw.is_none(), "{raw:?} on the screen:\n{text}");
        text
    }

    /// Compares the screen with a golden file; RENEW_GOLDEN=1 writes it anew.
    fn golden(&mut self, name: &str) -> &mut Self {
        let text = self.screen();
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tui").join(format!("{name}.txt"));
        if std::env::var_os("RENEW_GOLDEN").is_some() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
            fs::write(&path, &text).expect("written");
        }
        let wanted = fs::read_to_string(&path).unwrap_or_default();
        assert!(text == wanted, "{name} differs:\n{text}\nwanted:\n{wanted}");
        self
    }

    fn number(&self) -> u64 {
        self.app.state.detail.number
    }
}

#[test]
fn three_panes() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 140, 40);
    desk.golden("wide");
    // A field within the message: its bytes are lit, its path stands above the tree.
    desk.keys("8G<Enter>jjj").golden("field");
    desk.keys("#").golden("types");
    desk.resize(80, 24);
    desk.golden("narrow");
    desk.resize(20, 5);
    desk.golden("tiny");
}

#[test]
fn each_step_between_wire_and_message_is_a_tab() {
    let mut desk = Desk::open(fixture("good.pcap"), 140, 40);
    desk.keys("/carrier.encoding == \"hex\"<Enter>").golden("carrier");
    let names = |desk: &Desk| desk.app.state.detail.tabs.iter().map(|t| t.name.clone()).collect::<Vec<_>>();
    assert!(names(&desk).contains(&"from hex".to_owned()), "{:?}", names(&desk));
    // The same field in the bytes it was made from: two digits for each byte.
    desk.keys("<Enter>jj");
    let state = &desk.app.state;
    let place = state.place().expect("a field with bytes");
    let outer = state.detail.lit(place, place.tab - 1).expect("bytes that it was made from");
    assert_eq!((outer.end - outer.tag), 2 * (place.end - place.tag));
}

#[test]
fn timeline_and_what_was_said() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 120, 30);
    desk.keys("t").golden("lanes");
    desk.keys("jj z").golden("lanes-zoomed");
    desk.keys("0<Enter>");
    assert_eq!(desk.number(), 7, "where the lane begins");
    desk.keys("f").golden("said");
    desk.keys("q?").golden("help");
    desk.keys("xq");
    assert!(desk.app.state.over);
}

#[test]
fn filters_are_completed_checked_and_set() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 100, 24);
    desk.keys("/message.exec<Tab>").golden("completion");
    desk.keys("<^U>knd == 3").golden("mistake");
    desk.keys("<Enter>");
    assert!(desk.app.state.prompt.is_some(), "a wrong filter stays to be mended");
    desk.keys("<^U>kind == \"interaction_update\" and message.**.text contains \"tides\"<Enter>")
        .golden("filtered");
    let shown = desk.app.state.len;
    assert!(shown > 0 && shown < 108);
    desk.keys("<Esc>");
    assert_eq!(desk.app.state.len, 108);
}

#[test]
fn filters_ask_for_pairs_runs_and_their_findings() {
    let mut desk = Desk::open(fixture("unanswered.pcap"), 100, 24);
    for (filter, expect) in [
        ("pair.state == \"unanswered\"", 2),
        ("pair.latency > 1ms", 30),
        ("run.ending == \"completed\"", 56),
        ("findings.code == \"pair.unanswered\"", 1),
        ("findings.severity >= \"warning\" and pair.kind == \"exec\"", 1),
        ("run.tokens.input_tokens > 100", 56),
    ] {
        desk.keys(&format!("/<^U>{filter}<Enter>"));
        assert_eq!(desk.app.state.len, expect, "{filter}");
    }
}

#[test]
fn jumps() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 100, 24);
    desk.keys("3Gn");
    assert_eq!(desk.number(), 5, "from the request to its answer");
    desk.keys("N");
    assert_eq!(desk.number(), 3);
    desk.keys("<^O><^O>");
    assert_eq!(desk.number(), 3);
    desk.keys(":17<Enter>");
    assert_eq!(desk.number(), 17);
    desk.keys("gg");
    desk.keys("ssmells<Enter>");
    assert_eq!(desk.number(), 9, "the first message with the text");
    assert!(desk.app.state.line().is_some_and(|l| desk.app.state.detail.lines[l].value.contains("smells")));
    desk.keys("stides<Enter>;");
    let (first, second) = (desk.number(), desk.keys(";").number());
    assert!(second > first, "{first} and again {second}");
    assert_eq!(desk.keys(",").number(), first);
    desk.keys("snowhere to be found<Enter>");
    assert!(desk.app.state.note.as_ref().is_some_and(|(_, bad)| *bad));
    let mut damaged = Desk::open(fixture("unanswered.pcap"), 100, 24);
    damaged.keys("e");
    let severity =
        damaged.app.frames.row(damaged.number(), &Columns { list: Vec::new(), time: TimeStyle::Relative });
    assert!(severity.is_some_and(|r| r.severity.is_some()), "a frame with a finding");
    damaged.golden("finding");
}

#[test]
fn copies_are_clean_and_hide_what_the_screen_hides() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 100, 24);
    desk.keys("9G<Enter>jjjyvypymyb");
    let copied: Vec<&str> = desk
        .asked
        .iter()
        .map(|out| match out {
            Out::Copy(_, text) => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(copied.len(), 4);
    assert!(copied[0].starts_with("that smells"), "{}", copied[0]);
    assert!(copied[1].starts_with("message.interaction_update."), "{}", copied[1]);
    assert!(copied.iter().all(|t| !t.chars().any(is_unsafe)));
    desk.asked.clear();
    desk.keys("<Esc>mjmwout.jsonl<Enter>");
    assert_eq!(desk.asked, [Out::Write("out.jsonl".to_owned(), vec![9, 10], false)]);
}

#[test]
fn the_mouse_selects_folds_and_turns() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 140, 40);
    desk.click(30, 5);
    assert_eq!(desk.number(), 4);
    let (tree, hex) = (desk.app.state.layout().tree, desk.app.state.layout().hex);
    let lines = desk.app.state.shown.len();
    desk.click(tree.x, tree.y + 1);
    assert!(desk.app.state.shown.len() > lines, "the first section unfolds");
    // The last byte of the frame lies in the message.
    desk.click(hex.x + 10 + 3 * 6, hex.y + 1);
    assert_eq!(desk.app.state.byte, 6);
    assert!(desk.app.state.place().is_some_and(|p| (p.tag..p.end).contains(&6)));
}

/// A body of frames, each a message without a type.
fn body(name: &str, payloads: &[&[u8]]) -> (tempfile::TempDir, PathBuf) {
    let mut bytes = Vec::new();
    for payload in payloads {
        bytes.push(0);
        bytes.extend_from_slice(&(payload.len() as u32).to_be_bytes());
        bytes.extend_from_slice(payload);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("written");
    (folder, path)
}

fn text_field(text: &str) -> Vec<u8> {
    let mut out = vec![0x0a, text.len() as u8];
    out.extend_from_slice(text.as_bytes());
    out
}

#[test]
fn nothing_hostile_reaches_the_screen_or_the_clipboard() {
    let evil = text_field("\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}abc\u{9b}31m\r\n\tx\u{200b}");
    let (_folder, path) = body("evil\u{1b}[31m.bin", &[&evil, b"\xff\xff\xff", b"", &evil]);
    let mut desk = Desk::open_with(path, 120, 30, "frame,kind,message.1,capture,info");
    for keys in
        ["", "j", "<Enter>jjjj", "yvymyr", "t", "q", "f", "<Tab>", "q", "s\u{202e}\u{1b}x<Enter>", "<Esc>"]
    {
        desk.keys(keys).screen();
    }
    for out in &desk.asked {
        let Out::Copy(_, text) = out else { panic!("{out:?}") };
        assert!(!text.chars().any(is_unsafe), "{text:?}");
    }
    assert_eq!(desk.asked.len(), 3);
}

#[test]
fn secrets_are_hidden_in_every_pane() {
    let token = "sk-test-0123456789abcdefghij";
    let (_folder, path) = body("x.bin", &[&text_field(&format!("use {token} now"))]);
    let mut desk = Desk::open(path, 140, 40);
    let shown = desk.keys("<Enter>jjjj").screen();
    assert!(shown.contains("[redacted]") && !shown.contains("0123456789abcdefghij"), "{shown}");
    let hex: String = token.bytes().map(|b| format!("{b:02x} ")).collect();
    assert!(!shown.contains(&hex[..24]), "{shown}");
    desk.keys("yvymyryb");
    assert!(desk.asked.iter().all(|out| !format!("{out:?}").contains("0123456789")), "{:?}", desk.asked);
    assert!(!desk.asked.is_empty());
    let said = desk.keys("f").screen();
    assert!(!said.contains("0123456789"), "{said}");
}

#[test]
fn the_documents_list_every_key() {
    let document = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/VIEW.md"))
        .expect("docs/VIEW.md");
    for (keys, text) in KEYS.iter().filter(|(keys, _)| !keys.is_empty()) {
        assert!(document.contains(&format!("| `{keys}` | {text} |")), "{keys}: {text}");
    }
}

#[test]
fn with_control_a_letter_is_another_key() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 100, 24);
    // In the tree `l` unfolds and `x` unfolds all; in the timeline `z` fits a lane; what was said ends with `f`.
    for keys in ["<Enter>", "<Tab>", "t", "qf"] {
        desk.keys(keys);
        let before = desk.screen();
        desk.keys("<^X><^H><^S><^Y><^L><^Z>");
        assert_eq!(desk.screen(), before, "after {keys}");
    }
    let asked: Vec<Out> = (0..4).flat_map(|_| [Out::Redraw, Out::Suspend]).collect();
    assert_eq!(desk.asked, asked);
}

/// On a terminal of its own, which the program has to give back however it ends.
#[cfg(unix)]
#[test]
fn the_terminal_is_given_back() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/view/terminal.py");
    let capture = fixture("good.har");
    let output = std::process::Command::new("python3")
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_rpcshark"))
        .arg(&capture)
        .output()
        .expect("python starts");
    let (said, wrong) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{wrong}");
}

#[test]
fn no_size_is_too_small() {
    let mut desk = Desk::open(fixture("good-bidi.pcap"), 140, 40);
    for keys in ["", "<Enter>", "<Tab>", "z", "z/mess", "<Tab>", "<Esc><Esc>t", "qf", "q?", "xy"] {
        desk.keys(keys);
        for (width, height) in (0..24).flat_map(|n| [(n * 4, n), (n, 24 - n), (200, n), (n, 60)]) {
            if width == 0 || height == 0 {
                desk.app.resize(Size { width, height });
                continue;
            }
            desk.resize(width, height);
            desk.screen();
        }
    }
}
