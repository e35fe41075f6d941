//! `curl --trace`: the data that a transfer's hex dump holds.
//! Never reads its headers: they say how it was asked, not what was said.

use super::hex::{self, Misfit};

/// Whether a text begins as such a trace does.
pub(super) fn is_trace(text: &[u8]) -> bool {
    [&b"== Info:"[..], b"=> Send ", b"<= Recv "].iter().any(|mark| text.starts_with(mark))
}

/// The data received, or where there is none the data sent.
pub(super) fn decode(text: &[u8]) -> Result<Vec<u8>, Misfit> {
    let (mut sent, mut received) = (Vec::new(), Vec::new());
    let mut section = Section::Other;
    let mut dump: Option<(usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive(|b| *b == b'\n') {
        let start = at;
        at += line.len();
        if line.starts_with(b"=> ") || line.starts_with(b"<= ") || line.starts_with(b"== ") {
            section.take(text, dump.take(), &mut sent, &mut received)?;
            section = match line {
                _ if line.starts_with(b"=> Send data") => Section::Sent,
                _ if line.starts_with(b"<= Recv data") => Section::Received,
                _ => Section::Other,
            };
            continue;
        }
        dump = Some((dump.map_or(start, |(from, _)| from), at));
    }
    section.take(text, dump, &mut sent, &mut received)?;
    Ok(if received.is_empty() { sent } else { received })
}

#[derive(Clone, Copy)]
enum Section {
    Sent,
    Received,
    Other,
}

impl Section {
    fn take(
        self,
        text: &[u8],
        dump: Option<(usize, usize)>,
        sent: &mut Vec<u8>,
        received: &mut Vec<u8>,
    ) -> Result<(), Misfit> {
        let Some((from, to)) = dump else { return Ok(()) };
        let out = match self {
            Self::Sent => sent,
            Self::Received => received,
            Self::Other => return Ok(()),
        };
        let bytes = hex::decode(text.get(from..to).unwrap_or_default())
            .map_err(|misfit| Misfit::new(text, from + misfit.at, "not a line of a hex dump"))?;
        out.extend_from_slice(&bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_the_data() {
        let text = b"== Info: Trying\n=> Send header, 4 bytes (0x4)\n0000: 47 45 54 20 GET \n\
            => Send data, 2 bytes (0x2)\n0000: 01 02                                           ..\n\
            <= Recv data, 2 bytes (0x2)\n0000: 03 04                                           ..\n\
            <= Recv data, 1 bytes (0x1)\n0000: 05                                              .\n";
        assert!(is_trace(text));
        assert_eq!(decode(text), Ok(vec![3, 4, 5]));
        assert_eq!(decode(text.get(..150).unwrap_or_default()), Ok(vec![1, 2]));
    }
}
