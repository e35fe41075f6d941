//! Pieces of one thing put together: texts that came in deltas, sums, views of a whole.
//! Never joins across what came between.

use std::collections::HashMap;

use serde_json::Value;

use crate::base::secret;
use crate::session::essence::{self, How, MARK, Piece};

use super::record::Early;

/// Joins the pieces of a lane: what differs in its pieces alone becomes one, as long as nothing else comes between;
/// a view of the whole that repeats the one before is left out.
pub(super) fn join(list: Vec<Early>) -> Vec<Early> {
    let mut out: Vec<Early> = Vec::new();
    let mut open: Vec<(u64, usize)> = Vec::new();
    let mut views: HashMap<u64, Vec<Piece>> = HashMap::new();
    for early in list {
        if early.pieces.is_empty() {
            open.clear();
            out.push(early);
            continue;
        }
        if early.pieces.iter().all(|p| p.how == How::Replace) {
            if views.get(&early.shape).is_some_and(|before| *before == early.pieces) {
                continue;
            }
            views.insert(early.shape, early.pieces.clone());
            open.clear();
            out.push(early);
            continue;
        }
        let found = open.iter().find(|(shape, _)| *shape == early.shape).map(|(_, at)| *at);
        match found.and_then(|at| out.get_mut(at)) {
            Some(first) => {
                for (piece, next) in first.pieces.iter_mut().zip(early.pieces) {
                    piece.value = added(piece, next);
                }
            }
            None => {
                open.push((early.shape, out.len()));
                out.push(early);
            }
        }
    }
    out
}

/// A piece and the next.
fn added(piece: &mut Piece, next: Piece) -> Value {
    let old = piece.value.take();
    match (piece.how, old, next.value) {
        (How::Append, Value::String(old), Value::String(new)) if piece.bytes => {
            let bytes =
                |text: &str| base64_simd::forgiving_decode_to_vec(text.as_bytes()).unwrap_or_default();
            let both = [bytes(&old), bytes(&new)].concat();
            Value::String(base64_simd::STANDARD.encode_to_string(both))
        }
        (How::Append, Value::String(mut old), Value::String(new)) => {
            old.push_str(new.strip_prefix(MARK).filter(|n| n.starts_with(MARK)).unwrap_or(&new));
            Value::String(old)
        }
        (How::Sum, old, new) => {
            let number = |v: &Value| match v {
                Value::String(text) => text.parse::<f64>().unwrap_or(0.0),
                v => v.as_f64().unwrap_or(0.0),
            };
            let whole = |v: &Value| match v {
                Value::String(text) => text.parse::<i64>().ok(),
                v => v.as_i64(),
            };
            let text = old.is_string();
            match whole(&old).zip(whole(&new)).and_then(|(a, b)| a.checked_add(b)) {
                Some(sum) if text => Value::String(sum.to_string()),
                Some(sum) => Value::from(sum),
                None => Value::from(number(&old) + number(&new)),
            }
        }
        (_, _, new) => new,
    }
}

/// Puts joined pieces where their place holders stand.
pub(super) fn put_back(value: &mut Value, pieces: &[Piece], hides: Option<&secret::Rules>) {
    match value {
        Value::String(text) => {
            let number =
                text.strip_prefix(MARK).and_then(|t| t.strip_prefix('p')).and_then(|n| n.parse().ok());
            let Some(piece) = number.and_then(|n: usize| pieces.get(n)) else { return };
            *value = piece.value.clone();
            if piece.bytes {
                essence::open(value);
            }
            let text = if value.is_object() { value.get_mut("$value") } else { Some(value) };
            if let Some(Value::String(text)) = text
                && let Some(masked) = hides.and_then(|secrets| secrets.mask_text(text))
            {
                *text = masked;
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|v| put_back(v, pieces, hides)),
        Value::Object(object) => object.values_mut().for_each(|v| put_back(v, pieces, hides)),
        _ => {}
    }
}
