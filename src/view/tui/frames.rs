//! What the terminal interface is told about a capture, and what it may ask.
//! Never a frame itself: texts are clean and credentials hidden before they get here.

use std::sync::Arc;

use crate::base::{Severity, Timestamp};
use crate::pdu::Side;

use super::detail::Detail;
use super::row::Columns;

/// What a frame is to a reader, for its colour.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Class {
    /// A message like any other.
    #[default]
    Plain,
    /// A piece of running text.
    Text,
    /// It only keeps something alive.
    Pulse,
    /// It opens something that is to be answered.
    Ask,
    /// It answers, or closes, something.
    Answer,
    /// It ends its stream.
    End,
    /// It repeats an earlier frame.
    Repeat,
}

/// A line of the list.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The frame's number.
    pub number: u64,
    /// Who sent it.
    pub side: Side,
    /// What it is.
    pub class: Class,
    /// The worst of its findings.
    pub severity: Option<Severity>,
    /// The kind's place in the order of appearance.
    pub hue: u32,
    /// A clean text for each column.
    pub cells: Vec<String>,
}

/// How far reading has come.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Progress {
    /// The capture's name, clean.
    pub name: String,
    /// Frames read.
    pub frames: u64,
    /// Whether all of the capture has been read.
    pub done: bool,
    /// Whether more is waited for at its end.
    pub live: bool,
    /// Frames that the filter has looked at, where one is set.
    pub filtered: Option<u64>,
    /// Findings by severity: notes, warnings, errors.
    pub findings: [u64; 3],
    /// Why reading stopped, or what was given up.
    pub trouble: Option<String>,
    /// Grows when the timeline changes.
    pub version: u64,
}

/// An expression that cannot be used: what is wrong, and where, in characters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The first character that is meant.
    pub start: usize,
    /// One past the last; `start` where something is missing.
    pub end: usize,
    /// What is wrong.
    pub text: String,
    /// What may help.
    pub help: Option<String>,
}

/// Words that may stand where the caret is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Completion {
    /// Where the word begins, in bytes of the text.
    pub start: usize,
    /// What it may become, in order.
    pub words: Vec<String>,
}

/// What came of a search.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hunt {
    /// It goes on, at this frame.
    At(u64),
    /// The text is in this frame.
    Found(u64),
    /// It is in none.
    Nowhere,
}

/// A moment: a frame and its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moment {
    /// The frame's number.
    pub frame: u64,
    /// When.
    pub time: Option<Timestamp>,
}

/// What a lane of the timeline shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tone {
    /// A level with levels or calls in it.
    Level,
    /// Answered, or ended in good order.
    Good,
    /// Broken off, or canceled.
    Stopped,
    /// Unanswered, or cut off.
    Bad,
    /// It has not ended yet.
    Open,
}

/// A lane of the timeline: something with a beginning and an end.
#[derive(Clone, PartialEq, Debug)]
pub struct Lane {
    /// How deep it stands.
    pub depth: u16,
    /// The first lane that is not within it.
    pub end: u32,
    /// What it is.
    pub title: String,
    /// What is to be said of it: its wait, its ending.
    pub note: String,
    /// How it went.
    pub tone: Tone,
    /// Its first frame.
    pub first: Moment,
    /// Its last.
    pub last: Moment,
}

/// The lanes, outermost first, each before those within it.
pub type Lanes = Arc<Vec<Lane>>;

/// What one stream of a run said, or one message of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Said {
    /// The stream's name.
    pub name: String,
    /// Paragraphs: the frame they come from where it is known, who said it, the text; line breaks kept, clean otherwise.
    pub parts: Vec<(Option<u64>, Option<Side>, String)>,
}

/// Where to look next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Jump {
    /// To the other end of a pair, or to the next frame that has one.
    Pair,
    /// To the next frame with a finding.
    Finding,
    /// To the next frame of the same call.
    Call,
}

/// A capture that is being looked at. Places count the frames that are shown, from 0; numbers are the frames' own, from 1.
pub trait Frames {
    /// How far reading has come.
    fn progress(&self) -> Progress;
    /// How many frames are shown.
    fn len(&self) -> usize;
    /// Whether none is.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The number of the frame at a place.
    fn number(&self, at: usize) -> Option<u64>;
    /// The place of a frame, or of the first shown one after it.
    fn place(&self, number: u64) -> usize;
    /// The line of a frame.
    fn row(&mut self, number: u64, columns: &Columns) -> Option<Row>;
    /// A frame opened.
    fn detail(&mut self, number: u64) -> Option<Detail>;
    /// The frame's record, a line of JSON.
    fn record(&mut self, number: u64) -> Option<Vec<u8>>;
    /// Whether an expression is a filter.
    fn check(&self, filter: &str) -> Result<(), Mistake>;
    /// Shows only what passes; an empty expression shows all.
    fn filter(&mut self, filter: &str) -> Result<(), Mistake>;
    /// What the word before a byte of an expression may become.
    fn complete(&self, filter: &str, at: usize) -> Completion;
    /// The frame to jump to from one, among all.
    fn jump(&self, from: u64, jump: Jump, back: bool) -> Option<u64>;
    /// Starts to look for a text among the frames that are shown, from one on.
    fn search(&mut self, text: &str, from: u64, back: bool);
    /// What has come of it; `None` where nothing is looked for.
    fn found(&mut self) -> Option<Hunt>;
    /// The lanes of the timeline.
    fn lanes(&self) -> Lanes;
    /// How many frames of each side fall into each of `columns` equal parts of a span of time (or of numbers).
    fn density(&self, from: i64, to: i64, by_time: bool, columns: usize) -> [Vec<u32>; 2];
    /// What the run, or else the call, of a frame said.
    fn said(&mut self, number: u64) -> Vec<Said>;
}
