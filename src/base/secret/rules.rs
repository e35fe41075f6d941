//! What dialects add to the credentials that are known anywhere: names of headers, parameters and keys, and patterns.
//! Never hides less than the general rules do.

use std::ops::Range;

use regex::bytes::{Captures, Regex};

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
    patterns: Vec<Regex>,
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
            self.patterns.extend(Regex::new(&format!("(?-u){text}")).ok());
        }
    }

    /// Adds a pattern for values anywhere; where it has a group named `secret`, only that is hidden.
    pub fn add_pattern(&mut self, pattern: &str) -> Result<(), String> {
        let built = regex::bytes::RegexBuilder::new(pattern).size_limit(1 << 20).build();
        self.patterns.push(built.map_err(|e| e.to_string())?);
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
        for pattern in &self.patterns {
            let secret = |found: &Captures<'_>| -> Vec<Range<usize>> {
                found.name("secret").or(found.get(0)).map(|m| m.range()).into_iter().collect()
            };
            if let Some(new) = replaced(pattern, masked.as_deref().unwrap_or(bytes), secret) {
                masked = Some(new);
            }
        }
        masked
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
}
