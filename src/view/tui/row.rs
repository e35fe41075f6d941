//! A frame in columns.
//! Never wider than its column by itself: the list cuts what does not fit.

use std::cell::OnceCell;

use serde_json::Value;

use crate::base::text::clean;
use crate::base::{Severity, Timestamp};
use crate::pdu::Side;
use crate::schema::Schema;

use super::super::fields::{self, Occurrence};
use super::super::text::label::label;
use super::super::text::{Clock, TimeStyle, shown_time};
use super::super::{Item, jsonl};

/// Longest text of a cell, in characters.
const LONGEST: usize = 400;

/// A column of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Column {
    /// The frame's number.
    Number,
    /// Its time.
    Time,
    /// The number of its call.
    Call,
    /// Who sent it.
    Direction,
    /// Its kind.
    Kind,
    /// The length of its payload.
    Length,
    /// The envelope's flags.
    Flags,
    /// The RPC.
    Rpc,
    /// The connection.
    Conn,
    /// The stream on it.
    Stream,
    /// The message's type.
    Type,
    /// How the call rides on HTTP.
    Protocol,
    /// The capture's name.
    Capture,
    /// The codes of its findings.
    Findings,
    /// What it says.
    Info,
    /// A path of the record.
    Path(String),
}

/// Names of columns, what heads them, and their usual width (0: what is left).
const NAMES: &[(&str, &str, u16, Column)] = &[
    ("frame", "No.", 7, Column::Number),
    ("time", "Time", 11, Column::Time),
    ("call", "Call", 5, Column::Call),
    ("direction", "", 1, Column::Direction),
    ("kind", "Kind", 26, Column::Kind),
    ("length", "Length", 7, Column::Length),
    ("flags", "Flags", 5, Column::Flags),
    ("rpc", "RPC", 32, Column::Rpc),
    ("conn", "Conn", 7, Column::Conn),
    ("stream", "Stream", 6, Column::Stream),
    ("type", "Type", 30, Column::Type),
    ("protocol", "Protocol", 8, Column::Protocol),
    ("capture", "Capture", 16, Column::Capture),
    ("findings", "Findings", 24, Column::Findings),
    ("info", "Info", 0, Column::Info),
];

impl Column {
    /// What `--columns` has unless told.
    pub const USUAL: &'static str = "frame,time,call,direction,kind,length,info";

    /// The column of a name; a name with a dot, or one that is no column's, is a path of the record.
    pub fn named(name: &str) -> Self {
        let known = NAMES.iter().find(|(known, ..)| *known == name);
        known.map_or_else(|| Self::Path(name.to_owned()), |(.., column)| column.clone())
    }

    /// The names that are columns of their own.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, ..)| *name)
    }

    /// What heads it.
    pub fn title(&self) -> String {
        match self {
            Self::Path(path) => clean(path),
            known => NAMES
                .iter()
                .find(|(.., column)| column == known)
                .map_or("", |(_, title, ..)| title)
                .to_owned(),
        }
    }

    /// Its width; 0 where it takes what is left.
    pub fn width(&self, time: TimeStyle) -> u16 {
        match self {
            Self::Time if time == TimeStyle::Absolute => 27,
            Self::Time if time == TimeStyle::Epoch => 17,
            Self::Path(path) => (path.chars().count() as u16).clamp(12, 30),
            known => NAMES.iter().find(|(.., column)| column == known).map_or(12, |(_, _, width, _)| *width),
        }
    }

    /// Whether its cells stand to the right.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Number | Self::Time | Self::Length | Self::Stream | Self::Call)
    }
}

/// The columns of the list, and how times are shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Columns {
    /// In order.
    pub list: Vec<Column>,
    /// How times are shown.
    pub time: TimeStyle,
}

/// The cells of a frame.
pub fn cells(
    item: &Item<'_>,
    schema: &Schema,
    columns: &Columns,
    clock: (Option<Timestamp>, Option<Timestamp>),
) -> Vec<String> {
    let (frame, lane, decoded) = (item.frame, &item.frame.lane, item.decoded);
    let record = OnceCell::new();
    let cell = |column: &Column| match column {
        Column::Number => item.number.to_string(),
        Column::Time => shown_time(frame.time, columns.time, Clock { first: clock.0, before: clock.1 }),
        Column::Call => format!("#{}", lane.call),
        Column::Direction => if lane.side == Side::Request { "→" } else { "←" }.to_owned(),
        Column::Kind => clean(decoded.kind.as_deref().unwrap_or("-")),
        Column::Length => frame.length.to_string(),
        Column::Flags => frame.flags.map_or_else(|| "-".to_owned(), |f| format!("0x{f:02x}")),
        Column::Rpc => clean(lane.rpc.as_deref().unwrap_or("-")),
        Column::Conn => clean(lane.conn.as_ref().map_or("-", |c| &c.label)),
        Column::Stream => lane.stream.map_or_else(|| "-".to_owned(), |s| s.to_string()),
        Column::Type => clean(decoded.message_type.as_deref().unwrap_or("-")),
        Column::Protocol => lane.protocol.name().to_owned(),
        Column::Capture => clean(item.capture),
        Column::Findings => {
            let codes: Vec<&str> = decoded.findings.iter().map(|f| f.code.name()).collect();
            codes.join(" ")
        }
        Column::Info => info(item, schema),
        Column::Path(path) => {
            let record = record.get_or_init(|| {
                let mut line = Vec::new();
                jsonl::write(item, &mut line);
                serde_json::from_slice::<Value>(&line).unwrap_or_default()
            });
            let one = fields::Columns {
                paths: vec![path.clone()],
                header: false,
                separator: ' ',
                occurrence: Occurrence::All,
                aggregator: ',',
                quote: None,
            };
            crate::base::text::cut(&one.line(record), LONGEST)
        }
    };
    columns.list.iter().map(cell).collect()
}

/// What a frame says in a line: the innermost branch, then its values.
fn info(item: &Item<'_>, schema: &Schema) -> String {
    let label = label(schema, item.decoded, LONGEST);
    let kind = clean(item.decoded.kind.as_deref().unwrap_or("-"));
    // The kind has a column of its own.
    let below =
        label.name.strip_prefix(kind.as_str()).filter(|rest| rest.is_empty() || rest.starts_with(' '));
    let name = below.map_or(label.name.as_str(), str::trim_start);
    let mut out = name.to_owned();
    if !out.is_empty() && !label.says.is_empty() {
        out.push(' ');
    }
    out.push_str(&label.says);
    if out.is_empty()
        && let Some(worst) =
            item.decoded.findings.iter().max_by_key(|f| f.severity).filter(|f| f.severity > Severity::Note)
    {
        out = clean(&worst.text);
    }
    crate::base::text::cut(&out, LONGEST)
}
