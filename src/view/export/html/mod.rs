//! A report: one HTML file with all in it, to be opened in a browser without a network.
//! Never runs what a capture says: its text is data, in elements that no browser executes, and a policy forbids the rest.

mod data;
mod detail;

use std::io::{self, Write};

use sha2::{Digest, Sha256};

use crate::base::text::clean;

use super::Story;

pub use detail::{contents, record};

const PAGE: &str = include_str!("report.html");
const STYLE: &str = include_str!("report.css");

/// The program, in the order in which its parts need each other.
const SCRIPTS: &[&str] = &[
    include_str!("js/data.js"),
    include_str!("js/filter.js"),
    include_str!("js/lanes.js"),
    include_str!("js/list.js"),
    include_str!("js/detail.js"),
    include_str!("js/bytes.js"),
    include_str!("js/findings.js"),
    include_str!("js/plots.js"),
    include_str!("js/stats.js"),
    include_str!("js/main.js"),
];

/// Frames whose contents stand in one element, parsed when one of them is looked at.
const CHUNK: usize = 128;

/// A frame's contents, as [`record`] and [`contents`] give them; `None` where they were left out.
pub struct Detail {
    /// The record.
    pub record: Vec<u8>,
    /// What it holds.
    pub contents: Option<Vec<u8>>,
}

/// What a report says of what it leaves out.
#[derive(Clone, Copy, Default, Debug)]
pub struct Left {
    /// Bytes of one payload that are shown.
    pub payload: usize,
    /// Frames whose contents were left out because the report is at its limit.
    pub contents: u64,
    /// Whether credentials are shown.
    pub secrets: bool,
}

/// Writes the report. `details` go with the story's frames, one each.
pub fn write(story: &Story<'_>, details: &[Detail], left: &Left, out: &mut dyn Write) -> io::Result<()> {
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", SCRIPTS.concat());
    let policy = format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; base-uri 'none'; form-action 'none'",
        digest(&script),
        digest(STYLE)
    );
    let title = match story.captures {
        [one] => clean(one),
        many => format!("{} captures", many.len()),
    };
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}").unwrap_or((after, ""));
        out.write_all(before.as_bytes())?;
        match name {
            "policy" => out.write_all(policy.as_bytes())?,
            "title" => out.write_all(text(&title).as_bytes())?,
            "style" => out.write_all(STYLE.as_bytes())?,
            "script" => out.write_all(script.as_bytes())?,
            "data" => embed("session", &data::session(story, left), out)?,
            "details" => chunks(details, out)?,
            _ => {}
        }
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

fn chunks(details: &[Detail], out: &mut dyn Write) -> io::Result<()> {
    for (number, chunk) in details.chunks(CHUNK).enumerate() {
        let mut json = vec![b'['];
        for (i, detail) in chunk.iter().enumerate() {
            json.extend_from_slice(if i > 0 { b",[" } else { b"[" });
            json.extend_from_slice(&detail.record);
            json.push(b',');
            json.extend_from_slice(detail.contents.as_deref().unwrap_or(b"null"));
            json.push(b']');
        }
        json.push(b']');
        embed(&format!("frames-{number}"), &json, out)?;
    }
    Ok(())
}

/// JSON in an element of its own. Nothing in it can end the element or begin another: in JSON, these
/// characters stand in strings alone, where an escape means the same.
fn embed(id: &str, json: &[u8], out: &mut dyn Write) -> io::Result<()> {
    write!(out, "<script type=\"application/json\" id=\"{id}\">")?;
    let mut from = 0;
    for (at, byte) in json.iter().enumerate() {
        let (escape, length): (&[u8], usize) = match byte {
            b'<' => (b"\\u003c", 1),
            b'>' => (b"\\u003e", 1),
            b'&' => (b"\\u0026", 1),
            0xe2 if json.get(at + 1..at + 3) == Some(b"\x80\xa8") => (b"\\u2028", 3),
            0xe2 if json.get(at + 1..at + 3) == Some(b"\x80\xa9") => (b"\\u2029", 3),
            _ => continue,
        };
        out.write_all(json.get(from..at).unwrap_or_default())?;
        out.write_all(escape)?;
        from = at + length;
    }
    out.write_all(json.get(from..).unwrap_or_default())?;
    out.write_all(b"</script>\n")
}

/// A hash as a policy names it (CSP Level 3, section 2.3.1).
fn digest(text: &str) -> String {
    format!("sha256-{}", base64_simd::STANDARD.encode_to_string(Sha256::digest(text.as_bytes())))
}

/// Text fit for an element or a quoted attribute.
fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_leave_its_element() {
        let mut out = Vec::new();
        embed("x", "\"</script><!--<b>&\u{2028}\u{2029}é\"".as_bytes(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let inside = out.strip_prefix("<script type=\"application/json\" id=\"x\">").unwrap();
        let inside = inside.strip_suffix("</script>\n").unwrap();
        assert_eq!(inside, r#""\u003c/script\u003e\u003c!--\u003cb\u003e\u0026\u2028\u2029é""#);
    }

    #[test]
    fn the_page_asks_for_nothing() {
        for part in [PAGE, STYLE].iter().chain(SCRIPTS) {
            for call in [
                "http:",
                "https:",
                "fetch(",
                "XMLHttpRequest",
                "import(",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "url(",
                "@import",
                "WebSocket",
                "src=",
            ] {
                // The name of SVG's namespace is no address.
                let part = part.replace("http://www.w3.org/2000/svg", "");
                assert!(!part.contains(call), "{call}");
            }
        }
    }
}
