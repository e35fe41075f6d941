//! What a client appends, `agent.v1.AgentClientMessage`, written field by field.
//! Never needs a schema.

use super::messages::{Dice, field, varint};

/// What a client sends while a command runs: a piece of its output, or a heartbeat.
fn output(dice: &mut Dice) -> Vec<u8> {
    if dice.roll(10) == 0 {
        return field(7, b"");
    }
    let words = 8 + dice.roll(20);
    let text = dice.text(words);
    execution(dice, 14, &field(1, &field(1, &text)))
}

/// A result of an execution (`agent.v1.ExecClientMessage`).
fn execution(dice: &mut Dice, number: u64, result: &[u8]) -> Vec<u8> {
    let mut inner = vec![8];
    varint(&mut inner, 1 + dice.roll(1_000));
    inner.extend(field(number, result));
    field(2, &inner)
}

/// A file that was read, or a blob that was asked for.
fn content(dice: &mut Dice) -> Vec<u8> {
    let words = 100 + dice.roll(2_000);
    let text = dice.text(words);
    if dice.roll(2) == 0 {
        let file = [field(1, b"/home/someone/project/tides.py"), field(2, &text)].concat();
        return execution(dice, 7, &field(1, &file));
    }
    let mut inner = vec![8];
    varint(&mut inner, 1 + dice.roll(1_000));
    inner.extend(field(2, &field(1, &[b"{\"role\":\"user\",\"content\":\"", &*text, b"\"}"].concat())));
    field(3, &inner)
}

/// The next message of a client; as in the other corpora, a tenth of a mixed one is long.
pub fn message(kind: &str, dice: &mut Dice) -> Vec<u8> {
    match (kind, dice.roll(10)) {
        ("blobs", _) | ("mixed", 0) => content(dice),
        _ => output(dice),
    }
}
