//! What dialects add to the credentials that are known anywhere: names of headers, parameters and keys, and patterns.
//! Never hides less than the general rules do.

use std::ops::Range;
use std::sync::OnceLock;

use aho_corasick::packed;
use regex::bytes::{Captures, Regex};
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind};

use super::{is_secret_header, is_secret_parameter, mask, replaced};

/// What is secret by the dialects, and anywhere.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Header and trailer fields, in lower case.
    headers: Vec<String>,
    /// Query parameters, one `*` standing for any text, each with what the path has to end in.
    parameters: Vec<(String, String)>,
    /// Keys of JSON objects.
    keys: Vec<String>,
    /// Patterns, among them one of the keys in JSON text.
    patterns: Vec<Pattern>,
    /// Finds what any pattern needs; made at the first look. `None`: one of them needs nothing, or they are too many.
    needs: OnceLock<Option<packed::Searcher>>,
}

/// A pattern, and texts of which every match holds one, where there are such.
#[derive(Clone, Debug)]
struct Pattern {
    regex: Regex,
    needs: Vec<Vec<u8>>,
}

impl Pattern {
    /// Shorter texts are everywhere: to look for them saves nothing.
    const SHORTEST: usize = 3;
    /// As much of each is looked for: a few texts that begin alike are one.
    const LOOKED_FOR: usize = 4;

    fn new(regex: Regex) -> Self {
        let parsed = regex_syntax::ParserBuilder::new().utf8(false).build().parse(regex.as_str());
        let needs = parsed.ok().and_then(|hir| beginnings(&hir).or_else(|| middle(&hir))).unwrap_or_default();
        Self { regex, needs }
    }
}

/// All that matches can begin with, where none of it is too short.
fn beginnings(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let begins = Extractor::new().extract(hir);
    let literals: Vec<Vec<u8>> = begins.literals()?.iter().map(|l| l.as_bytes().to_vec()).collect();
    literals.iter().all(|l| l.len() >= Pattern::SHORTEST).then_some(literals)
}

/// A text that stands in the middle of every match.
fn middle(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let literals = parts.iter().filter_map(|part| match part.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        _ => None,
    });
    let longest = literals.max_by_key(|l| l.len()).filter(|l| l.len() >= Pattern::SHORTEST)?;
    Some(vec![longest.to_vec()])
}

impl Rules {
    /// Adds header fields, query parameters of paths with an ending, and keys of JSON objects.
    pub fn add(&mut self, headers: &[String], parameters: &[String], path: &str, keys: &[String]) {
        self.headers.extend(headers.iter().map(|name| name.to_ascii_lowercase()));
        self.parameters.extend(parameters.iter().map(|name| (name.to_ascii_lowercase(), path.to_owned())));
        self.keys.extend_from_slice(keys);
        if !keys.is_empty() {
            let names: Vec<String> = keys.iter().map(|key| regex::escape(key)).collect();
            let text = format!(r#""(?:{})"\s*:\s*"(?<secret>(?:[^"\\]|\\.)+)(?:"|\\?\z)"#, names.join("|"));
            // Escaped names and a fixed rest: it can only be too large.
            self.patterns.extend(Regex::new(&format!("(?-u){text}")).ok().map(Pattern::new));
            self.needs = OnceLock::new();
        }
    }

    /// Adds a pattern for values anywhere; where it has a group named `secret`, only that is hidden.
    pub fn add_pattern(&mut self, pattern: &str) -> Result<(), String> {
        let built = regex::bytes::RegexBuilder::new(pattern).size_limit(1 << 20).build();
        self.patterns.push(Pattern::new(built.map_err(|e| e.to_string())?));
        self.needs = OnceLock::new();
        Ok(())
    }

    /// Whether a header or trailer field's value is a credential; `name` in lower case.
    pub fn is_header(&self, name: &str) -> bool {
        is_secret_header(name) || self.headers.iter().any(|known| known == name)
    }

    /// Whether a query parameter's value is a credential, in a URL of this path.
    pub fn is_parameter(&self, path: &str, name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        let fits = |known: &str| match known.split_once('*') {
            Some((start, end)) => {
                lower.len() >= start.len() + end.len() && lower.starts_with(start) && lower.ends_with(end)
            }
            None => known == lower,
        };
        is_secret_parameter(name)
            || self.parameters.iter().any(|(known, ending)| path.ends_with(ending.as_str()) && fits(known))
    }

    /// Whether the value of a JSON object's member is a credential by the dialects.
    pub fn is_key(&self, name: &str) -> bool {
        self.keys.iter().any(|known| known == name)
    }

    /// `bytes` with every credential in it replaced; `None` where it holds none.
    pub fn mask(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut masked = mask(bytes);
        if !self.may_hold(masked.as_deref().unwrap_or(bytes)) {
            return masked;
        }
        for Pattern { regex: pattern, .. } in &self.patterns {
            let secret = |found: &Captures<'_>| -> Vec<Range<usize>> {
                found.name("secret").or(found.get(0)).map(|m| m.range()).into_iter().collect()
            };
            if let Some(new) = replaced(pattern, masked.as_deref().unwrap_or(bytes), secret) {
                masked = Some(new);
            }
        }
        masked
    }

    /// Whether a pattern can match: false only where nothing that they need is there.
    fn may_hold(&self, bytes: &[u8]) -> bool {
        let needs = self.needs.get_or_init(|| {
            let mut texts = Vec::new();
            for pattern in &self.patterns {
                if pattern.needs.is_empty() {
                    return None;
                }
                texts
                    .extend(pattern.needs.iter().map(|text| text.get(..Pattern::LOOKED_FOR).unwrap_or(text)));
            }
            texts.sort_unstable();
            texts.dedup();
            packed::Searcher::new(texts)
        });
        needs.as_ref().is_none_or(|needs| needs.find(bytes).is_some())
    }

    /// [`Rules::mask`] for text.
    pub fn mask_text(&self, text: &str) -> Option<String> {
        self.mask(text.as_bytes()).map(|masked| String::from_utf8_lossy(&masked).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_adds_to_the_general_rules() {
        let text = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        let mut rules = Rules::default();
        rules.add(&text(&["X-Chat-Pass"]), &text(&["uuid", "p_*"]), "/poll", &text(&["pass.word"]));
        assert!(rules.add_pattern("chat-(?<secret>[0-9]{4})").is_ok() && rules.add_pattern("(").is_err());
        assert!(rules.is_header("x-chat-pass") && rules.is_header("cookie") && !rules.is_header("x-chat"));
        assert!(rules.is_parameter("/a/poll", "UUID") && rules.is_parameter("/poll", "p_x"));
        assert!(!rules.is_parameter("/other", "uuid") && rules.is_parameter("/other", "token"));
        assert!(rules.is_key("pass.word") && !rules.is_key("password"));
        let said = r#"{"pass.word": "a\"b", "passxword": "c", "n": "chat-1234", "k": "sk-0123456789abcdef"}"#;
        let hidden =
            r#"{"pass.word": "[redacted]", "passxword": "c", "n": "chat-[redacted]", "k": "[redacted]"}"#;
        assert_eq!(rules.mask_text(said).as_deref(), Some(hidden));
        assert_eq!(rules.mask_text("chat-12"), None);
    }

    #[test]
    fn what_patterns_need_is_looked_for_first() {
        let mut rules = Rules::default();
        let mut add = |pattern: &str| assert!(rules.add_pattern(pattern).is_ok(), "{pattern}");
        add(r"\bgh[pu]_[a-z]{4,}");
        add("(?:AKIA|ASIA)[0-9]{4}");
        add(r"[a-z]+://[^@]+@");
        assert!(
            rules.may_hold(b"://")
                && rules.may_hold(b"x ghu_")
                && rules.may_hold(b"ASIA")
                && !rules.may_hold(b"gh_ AKI")
        );
        assert_eq!(rules.mask_text("a ghp_abcd ASIA1234").as_deref(), Some("a [redacted] [redacted]"));
        assert!(rules.add_pattern("[a-z]+=[0-9]").is_ok());
        assert!(rules.may_hold(b""), "this one needs no text of three bytes");
        assert_eq!(rules.mask_text("my=1").as_deref(), Some("[redacted]"));
    }
}
