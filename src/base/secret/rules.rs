//! What dialects add to the credentials that are known anywhere: names of headers, parameters and keys, and patterns.
//! Never hides less than the general rules do.

use std::ops::Range;
use std::sync::OnceLock;

use memchr::memmem;
use regex::bytes::{Captures, Regex, RegexBuilder};
use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Hir, HirKind};
use smallvec::SmallVec;

use super::sieve::{NEEDED, Needs, Sieve, next_colon};
use super::{is_secret_header, is_secret_parameter, mask, replaced};

/// Stands for the credentials that are known anywhere, where texts are told by the pattern that needs them.
const GENERAL: usize = usize::MAX;

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
    /// Finds what any credential needs; made at the first look. `None`: a pattern needs nothing, or they are too many.
    needs: OnceLock<Option<Needs>>,
}

/// A pattern, compiled when a text may match it: most runs meet no such text.
#[derive(Clone, Debug)]
struct Pattern {
    text: Box<str>,
    shape: OnceLock<Shape>,
    /// `None`: too large, or no pattern.
    regex: OnceLock<Option<Regex>>,
}

/// What matches of a pattern must hold, where there is such a text.
#[derive(Clone, Default, Debug)]
struct Shape {
    /// One of these.
    needs: Vec<Vec<u8>>,
    /// All of these, one after the other.
    row: Vec<memmem::Finder<'static>>,
}

impl Pattern {
    /// Shorter texts are everywhere: to look for them saves nothing.
    const SHORTEST: usize = 3;

    fn new(text: &str) -> Self {
        Self { text: text.into(), shape: OnceLock::new(), regex: OnceLock::new() }
    }

    fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| Regex::new(&self.text).ok()).as_ref()
    }

    fn shape(&self) -> &Shape {
        self.shape.get_or_init(|| {
            let parsed = regex_syntax::ParserBuilder::new().utf8(false).build().parse(&self.text);
            // What does not parse matches nothing.
            parsed.map_or_else(|_| Shape::default(), |hir| Shape::new(&hir))
        })
    }

    /// False only where nothing can match.
    fn may_match(&self, bytes: &[u8]) -> bool {
        let mut rest = Some(bytes);
        for text in &self.shape().row {
            rest = rest.and_then(|rest| rest.get(text.find(rest)? + text.needle().len()..));
        }
        rest.is_some()
    }
}

impl Shape {
    fn new(hir: &Hir) -> Self {
        let row = row(hir);
        let longest =
            || row.iter().max_by_key(|text| text.len()).filter(|text| text.len() >= Pattern::SHORTEST);
        let needs = beginnings(hir).or_else(|| Some(vec![longest()?.clone()]));
        let row = row.iter().map(|text| memmem::Finder::new(text).into_owned()).collect();
        Self { needs: needs.unwrap_or_default(), row }
    }
}

/// All that matches can begin with, where none of it is too short.
fn beginnings(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    let begins = Extractor::new().extract(hir);
    let literals: Vec<Vec<u8>> = begins.literals()?.iter().map(|l| l.as_bytes().to_vec()).collect();
    literals.iter().all(|l| l.len() >= Pattern::SHORTEST).then_some(literals)
}

/// The texts that stand in every match, in their order.
fn row(hir: &Hir) -> Vec<Vec<u8>> {
    let HirKind::Concat(parts) = hir.kind() else { return Vec::new() };
    let literals = parts.iter().filter_map(|part| match part.kind() {
        HirKind::Literal(literal) => Some(literal.0.to_vec()),
        _ => None,
    });
    literals.collect()
}

impl Rules {
    /// Names of keys that are surely a pattern of allowed size, in bytes together.
    const SMALL: usize = 4 << 10;

    /// Adds header fields, query parameters of paths with an ending, and keys of JSON objects; an error says that the
    /// keys are too long together.
    pub fn add(
        &mut self,
        headers: &[String],
        parameters: &[String],
        path: &str,
        keys: &[String],
    ) -> Result<(), String> {
        self.headers.extend(headers.iter().map(|name| name.to_ascii_lowercase()));
        self.parameters.extend(parameters.iter().map(|name| (name.to_ascii_lowercase(), path.to_owned())));
        self.keys.extend_from_slice(keys);
        if keys.is_empty() {
            return Ok(());
        }
        let names = keys.iter().map(|key| regex::escape(key)).collect::<Vec<_>>().join("|");
        let text = format!(r#"(?-u)"(?:{names})"\s*:\s*"(?<secret>(?:[^"\\]|\\.)+)(?:"|\\?\z)"#);
        // Escaped names and a fixed rest: it can only be too large, and then it would hide nothing.
        if names.len() <= Self::SMALL {
            self.add_known(&text);
            return Ok(());
        }
        self.add_pattern(&text)
    }

    /// Adds a pattern for values anywhere; where it has a group named `secret`, only that is hidden.
    pub fn add_pattern(&mut self, pattern: &str) -> Result<(), String> {
        RegexBuilder::new(pattern).size_limit(1 << 20).build().map_err(|e| e.to_string())?;
        self.add_known(pattern);
        Ok(())
    }

    /// The same for a pattern that is known to be one.
    pub fn add_known(&mut self, pattern: &str) {
        self.patterns.push(Pattern::new(pattern));
        self.needs = OnceLock::new();
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
        self.mask_part(bytes, 0..bytes.len())
    }

    /// [`Rules::mask`] for a part of a payload: what credentials need is found quicker in a long text than in a short one.
    pub fn mask_part(&self, payload: &[u8], part: Range<usize>) -> Option<Vec<u8>> {
        let bytes = payload.get(part.clone())?;
        let needed = self.needs().map(|needs| {
            let mut needed: SmallVec<[usize; 8]> = SmallVec::new();
            needs.owners(payload, part).for_each(|owner| {
                if !needed.contains(&owner) {
                    needed.push(owner);
                }
            });
            needed
        });
        let may_hold = |owner: usize| needed.as_ref().is_none_or(|needed| needed.contains(&owner));
        let is_general = may_hold(GENERAL) || next_colon(bytes, 0).is_some();
        let mut masked = if is_general { mask(bytes) } else { None };
        for (owner, pattern) in (0..).zip(&self.patterns) {
            let secret = |found: &Captures<'_>| -> Vec<Range<usize>> {
                found.name("secret").or(found.get(0)).map(|m| m.range()).into_iter().collect()
            };
            // What has been replaced may have put together what another pattern needs.
            if masked.is_none() && !may_hold(owner) {
                continue;
            }
            let so_far = masked.as_deref().unwrap_or(bytes);
            if pattern.may_match(so_far)
                && let Some(regex) = pattern.regex()
                && let Some(new) = replaced(regex, so_far, secret)
            {
                masked = Some(new);
            }
        }
        masked
    }

    /// Tells which strings of a payload may hold a credential; the others [`Rules::mask`] would leave as they are.
    pub fn sieve<'p>(&self, payload: &'p [u8]) -> Sieve<'_, 'p> {
        Sieve::new(self, payload)
    }

    /// What finds the texts that credentials need; `None` where some need nothing.
    pub(super) fn needs(&self) -> Option<&Needs> {
        let make = || {
            if self.patterns.iter().any(|pattern| pattern.shape().needs.is_empty()) {
                return None;
            }
            let own = (0..).zip(&self.patterns);
            let own = own.flat_map(|(n, p)| p.shape().needs.iter().map(move |text| (n, text.as_slice())));
            Needs::new(NEEDED.into_iter().map(|text| (GENERAL, text)).chain(own))
        };
        self.needs.get_or_init(make).as_ref()
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
        rules.add(&text(&["X-Chat-Pass"]), &text(&["uuid", "p_*"]), "/poll", &text(&["pass.word"])).unwrap();
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
    fn keys_that_make_no_pattern_are_refused() {
        let keys = |bytes: usize| vec!["k".repeat(bytes)];
        let longest = keys(Rules::SMALL);
        let mut rules = Rules::default();
        assert_eq!(rules.add(&[], &[], "", &longest), Ok(()));
        let said = format!(r#"{{"{}": "hidden"}}"#, longest[0]);
        assert!(rules.mask_text(&said).is_some_and(|masked| !masked.contains("hidden")));
        assert!(rules.add(&[], &[], "", &keys(1 << 20)).is_err());
    }

    #[test]
    fn what_patterns_need_is_looked_for_first() {
        let mut rules = Rules::default();
        let mut add = |pattern: &str| assert!(rules.add_pattern(pattern).is_ok(), "{pattern}");
        add(r"\bgh[pu]_[a-z]{4,}");
        add("(?:AKIA|ASIA)[0-9]{4}");
        add(r"[a-z]+://[^@]+@");
        let may_hold = |rules: &Rules, text: &str| rules.sieve(text.as_bytes()).may_hold(0..text.len());
        assert!(["://", "x ghu_", "ASIA"].iter().all(|text| may_hold(&rules, text)));
        assert!(!may_hold(&rules, "gh_ AKI"));
        assert_eq!(rules.mask_text("a ghp_abcd ASIA1234").as_deref(), Some("a [redacted] [redacted]"));
        assert!(rules.add_pattern("[a-z]+=[0-9]").is_ok());
        assert!(may_hold(&rules, ""), "this one needs no text of three bytes");
        assert_eq!(rules.mask_text("my=1").as_deref(), Some("[redacted]"));
    }

    #[test]
    fn a_pattern_is_tried_where_all_its_texts_stand_in_their_order() {
        let pattern = Pattern::new(r"[a-z]+://[^:]*:(?<secret>[^@]+)@");
        assert!(pattern.may_match(b"a://b:c@"));
        for text in ["a://b:c", "a://b@c", "@a://b:", ":@a://"] {
            assert!(!pattern.may_match(text.as_bytes()), "{text}");
        }
    }

    /// Every part has a colon that may belong to a credential and none does: were all that is left of the payload
    /// searched for each, this would take many minutes.
    #[test]
    fn a_part_is_searched_and_not_what_follows_it() {
        const PART: &str = "\"key\": 5 abcd";
        let mut rules = Rules::default();
        assert!(rules.add_pattern("[a-z]+://[^@]+@").is_ok());
        let payload = PART.repeat(600_000);
        let parts = (0..payload.len()).step_by(PART.len()).map(|from| from..from + PART.len());
        assert!(
            parts.clone().all(|part| rules.sieve(&payload.as_bytes()[part.clone()]).may_hold(0..part.len()))
        );
        assert!(parts.into_iter().all(|part| rules.mask_part(payload.as_bytes(), part).is_none()));
    }

    /// A sieve is asked for the strings of a payload in their order, and must let through what any search would find.
    #[test]
    fn a_sieve_lets_through_what_a_search_of_each_string_finds() {
        let mut rules = Rules::default();
        rules.add(&[], &[], "", &["api_key".to_owned(), "seat".to_owned()]).unwrap();
        for pattern in [r"\bsk-(?:ant-)?[a-z0-9]{16,}", r"\bxox[ab]-[0-9]{4,}", r"[a-z]+://[^/:@]*:[^/@]+@"] {
            assert!(rules.add_pattern(pattern).is_ok());
        }
        let texts: Vec<String> = super::super::tests::texts(40_000).collect();
        let (mut found, mut passed) = (0, 0);
        for strings in texts.chunks(5) {
            // What is between two strings may belong to neither.
            let payload = strings.join("\x0a:\"api_");
            let mut sieve = rules.sieve(payload.as_bytes());
            let mut from = 0;
            for text in strings {
                let masked = super::super::search(text.as_bytes()).is_some()
                    || rules.patterns.iter().any(|p| p.regex().is_some_and(|r| r.is_match(text.as_bytes())));
                let may_hold = sieve.may_hold(from..from + text.len());
                assert!(may_hold || !masked, "{text:?}");
                let (whole, part) = (rules.mask(text.as_bytes()), from..from + text.len());
                assert_eq!(whole.is_some(), masked, "{text:?}");
                assert_eq!(rules.mask_part(payload.as_bytes(), part), whole, "{text:?}");
                found += usize::from(masked);
                passed += usize::from(!may_hold);
                from += text.len() + "\x0a:\"api_".len();
            }
        }
        assert!(found > 2_000 && passed > 2_000, "{found} {passed}");
    }
}
