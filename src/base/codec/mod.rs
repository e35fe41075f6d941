//! Undoes compression: gzip, deflate, br, zstd, snappy, within limits and with a diagnosis.
//! Never allocates by a length that the bytes declare, and never hides what could be inflated.

mod content;
mod deflate;
mod foreign;
#[cfg(test)]
mod tests;

use super::{Code, Finding, Limits};

/// One set of decompressors and their buffers: one for each worker, used again and again.
#[derive(Default)]
pub struct Inflater {
    deflate: Option<flate2::Decompress>,
    zstd: Option<zstd::zstd_safe::DCtx<'static>>,
    scratch: Vec<u8>,
}

/// How inflating went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inflated {
    /// Whether the output is all that was compressed. A failed checksum leaves it so.
    pub complete: bool,
}

/// How one compressed stream stopped.
enum Stop {
    /// At its own end, after so many bytes of input.
    Done(usize),
    /// The input ended first.
    Cut,
    /// The output reached its bound.
    Full,
    /// The bytes are not what they should be; how, in words.
    Damaged(String),
    /// The bytes use a part of the format that is not read; which, in words.
    Unsupported(String),
}

/// Where output goes and how long it may grow.
struct Room<'a> {
    out: &'a mut Vec<u8>,
    /// Most bytes of output.
    cap: usize,
}

impl Room<'_> {
    /// Makes room for more output, by what is there and not by what is declared. One byte past
    /// the bound is allowed, to tell output that just fits from output that does not.
    fn grow(&mut self, input: usize) {
        let step = self.out.len().max(input.saturating_mul(3)).clamp(512, 1 << 20);
        let left = self.cap.saturating_add(1).saturating_sub(self.out.len());
        self.out.reserve(step.min(left).max(1));
    }

    fn is_over(&self) -> bool {
        self.out.len() > self.cap
    }
}

impl Inflater {
    /// Decompressors that are made when first needed.
    pub fn new() -> Self {
        Self::default()
    }

    /// Undoes `encoding` (an HTTP content-coding or message encoding, any case; `None` where no
    /// header declares one) and leaves the result in `out`, which is cleared first. `whole` is
    /// false where the capture does not hold all of the payload: then its being cut is no news.
    pub fn inflate(
        &mut self,
        encoding: Option<&str>,
        payload: &[u8],
        whole: bool,
        limits: &Limits,
        out: &mut Vec<u8>,
        findings: &mut Vec<Finding>,
    ) -> Inflated {
        out.clear();
        // Peers skip the codec for an empty message and still set the flag.
        if payload.is_empty() {
            return Inflated { complete: whole };
        }
        let Some(name) = encoding.map(str::trim).filter(|n| !n.is_empty()) else {
            return self.undeclared(payload, whole, limits, out, findings);
        };
        let Some(format) = Format::named(name) else {
            let text = format!("encoding '{name}' is not supported; the payload is kept as bytes");
            findings.push(Finding::new(Code::CodecUnsupported, text));
            return Inflated { complete: false };
        };
        match Format::sniff(payload) {
            Some(found) if found != format && !format.begins(payload) => {
                let text =
                    format!("declared {}, but the payload begins as {} does", format.name(), found.name());
                findings.push(Finding::new(Code::CodecCorrupt, text));
                self.run(found, payload, whole, limits, out, findings)
            }
            _ => self.run(format, payload, whole, limits, out, findings),
        }
    }

    fn undeclared(
        &mut self,
        payload: &[u8],
        whole: bool,
        limits: &Limits,
        out: &mut Vec<u8>,
        findings: &mut Vec<Finding>,
    ) -> Inflated {
        let Some(found) = Format::sniff(payload) else {
            let text =
                "compressed, but the stream declares no encoding and the bytes tell none; kept as bytes";
            findings.push(Finding::new(Code::CodecUndeclared, text));
            return Inflated { complete: false };
        };
        let text = format!("compressed, but the stream declares no encoding; taken as {}", found.name());
        findings.push(Finding::new(Code::CodecUndeclared, text));
        self.run(found, payload, whole, limits, out, findings)
    }

    fn run(
        &mut self,
        format: Format,
        payload: &[u8],
        whole: bool,
        limits: &Limits,
        out: &mut Vec<u8>,
        findings: &mut Vec<Finding>,
    ) -> Inflated {
        let by_ratio = (payload.len() as u64).saturating_mul(limits.max_ratio).max(limits.ratio_floor);
        let cap = limits.max_inflate.min(by_ratio).min(isize::MAX as u64 - 1) as usize;
        let mut room = Room { out, cap };
        let stop = match format {
            Format::Identity => foreign::identity(payload, &mut room),
            Format::Gzip => deflate::gzip(self.deflate(), payload, whole, &mut room, findings),
            Format::Deflate => deflate::deflate(self.deflate(), payload, whole, &mut room, findings),
            Format::Brotli => foreign::brotli(payload, &mut room),
            Format::Zstd => foreign::zstd(&mut self.zstd, payload, limits, &mut room),
            Format::Snappy => foreign::snappy(payload, &mut room),
        };
        let name = format.name();
        let (code, text) = match stop {
            Stop::Done(used) if used == payload.len() => return Inflated { complete: true },
            Stop::Done(used) => {
                let rest = payload.len().saturating_sub(used);
                let text = format!("{rest} byte{} after the {name} stream", if rest == 1 { "" } else { "s" });
                findings.push(Finding::new(Code::CodecCorrupt, text));
                return Inflated { complete: true };
            }
            Stop::Cut if !whole => return Inflated { complete: false },
            Stop::Cut => {
                (Code::CodecCorrupt, format!("{name}: compressed data cut off after {} bytes", payload.len()))
            }
            Stop::Damaged(text) => (Code::CodecCorrupt, text),
            Stop::Unsupported(text) => (Code::CodecUnsupported, text),
            Stop::Full => {
                room.out.truncate(cap);
                let text = if cap as u64 == limits.max_inflate {
                    format!("{name}: inflates past the limit of {cap} bytes (--max-inflate)")
                } else {
                    format!(
                        "{name}: {} bytes inflate to more than {cap} bytes, over {} times as much",
                        payload.len(),
                        limits.max_ratio
                    )
                };
                (Code::CodecBomb, text)
            }
        };
        findings.push(Finding::new(code, text));
        Inflated { complete: false }
    }

    fn deflate(&mut self) -> &mut flate2::Decompress {
        self.deflate.get_or_insert_with(|| flate2::Decompress::new(false))
    }
}

/// The encodings that are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
    Snappy,
}

impl Format {
    fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "identity" => Self::Identity,
            "gzip" | "x-gzip" => Self::Gzip,
            "deflate" | "zlib" => Self::Deflate,
            "br" | "brotli" => Self::Brotli,
            "zstd" => Self::Zstd,
            "snappy" | "x-snappy-framed" => Self::Snappy,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
            Self::Snappy => "snappy",
        }
    }

    /// The formats whose first bytes cannot well be anything else.
    fn sniff(payload: &[u8]) -> Option<Self> {
        [Self::Gzip, Self::Zstd, Self::Snappy].into_iter().find(|f| f.begins(payload))
    }

    /// Whether the payload begins as the format must; formats without a magic never do.
    fn begins(self, payload: &[u8]) -> bool {
        match self {
            Self::Gzip => payload.starts_with(&deflate::GZIP_MAGIC),
            Self::Zstd => foreign::is_zstd(payload),
            Self::Snappy => payload.starts_with(foreign::SNAPPY_IDENTIFIER),
            Self::Identity | Self::Deflate | Self::Brotli => false,
        }
    }
}
