//! The HTTP head of a direction, under its first frame.
//! Never shows a credential unless told.

use std::fmt::Write;

use colored::Colorize;

use crate::base::text::{clean, push_clean};
use crate::pdu::{Side, Start};

use super::super::Item;
use super::super::redact::{header_value, host, url};

/// Appends start line and header fields, where the frame is the first of its direction.
pub fn write(item: &Item<'_>, out: &mut String) {
    let lane = &item.frame.lane;
    let head = if lane.side == Side::Request { &lane.request } else { &lane.response };
    let (0, Some(head)) = (item.frame.index, head) else { return };
    let unknown = "(unknown)".to_owned();
    let line = match &head.start {
        Start::Request { method, path, .. } => {
            let path = path.as_deref().map_or_else(|| unknown.clone(), |p| url(item.hides(), p).into_owned());
            format!("{} {path} {}", method.as_ref().unwrap_or(&unknown), head.version)
        }
        Start::Response { status } => {
            format!("{} {}", head.version, status.map_or(unknown, |s| s.to_string()))
        }
    };
    let _ = writeln!(out, "        {}", clean(&line).bold());
    if let Start::Request { authority: Some(authority), .. } = &head.start {
        let _ = writeln!(out, "        {}: {}", "host".dimmed(), clean(&host(authority, item.show_secrets)));
    }
    for header in head.headers.fields.iter().filter(|h| h.name != "host") {
        let _ = write!(out, "        {}: ", clean(&header.name).dimmed());
        push_clean(out, &header_value(item.hides(), &header.name, &header.value));
        out.push('\n');
    }
    if head.headers.lost > 0 {
        let text = format!("({} fields were sent before the capture began)", head.headers.lost);
        let _ = writeln!(out, "        {}", text.dimmed());
    }
}
