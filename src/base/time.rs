//! Points in time as captures give them, in whole nanoseconds.
//! Never asks the clock.

use std::fmt;

/// Nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// From seconds and nanoseconds; saturates.
    pub fn from_parts(seconds: i64, nanos: i64) -> Self {
        Self(seconds.saturating_mul(1_000_000_000).saturating_add(nanos))
    }

    /// From seconds as a float, as mitmproxy writes them; rounded to microseconds, which
    /// is what such a float still tells. `None` where it is not a finite, plausible time.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        let micros = (seconds * 1e6).round();
        (micros.is_finite() && micros.abs() < 9e15).then(|| Self((micros as i64).saturating_mul(1_000)))
    }

    /// Whole seconds since 1970 of an RFC 3339 text, of any year from 0 to 9999.
    pub fn parse_seconds(text: &str) -> Option<i64> {
        read(text).map(|(seconds, _)| seconds)
    }

    /// Reads RFC 3339 (`2026-11-30T10:15:02.123456Z`, any offset, a blank for the `T`,
    /// up to nine digits of fraction; more are dropped).
    pub fn parse(text: &str) -> Option<Self> {
        read(text).map(|(seconds, nanos)| Self::from_parts(seconds, nanos))
    }
}

/// Seconds since 1970 and nanoseconds of an RFC 3339 text.
fn read(text: &str) -> Option<(i64, i64)> {
    let b = text.trim().as_bytes();
    let number = |from: usize, len: usize| -> Option<i64> {
        let digits = b.get(from..from + len)?;
        digits.iter().try_fold(0i64, |n, d| d.is_ascii_digit().then(|| n * 10 + i64::from(d - b'0')))
    };
    let sep = |at: usize, any: &[u8]| b.get(at).is_some_and(|c| any.contains(c));
    let (year, month, day) = (number(0, 4)?, number(5, 2)?, number(8, 2)?);
    let (hour, minute, second) = (number(11, 2)?, number(14, 2)?, number(17, 2)?);
    let seps = sep(4, b"-") && sep(7, b"-") && sep(10, b"Tt ") && sep(13, b":") && sep(16, b":");
    if !seps
        || !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 24
        || minute > 59
        || second > 60
    {
        return None;
    }
    let mut at = 19;
    let mut nanos = 0;
    if sep(at, b".,") {
        at += 1;
        let mut scale = 100_000_000;
        while let Some(d) = b.get(at).filter(|d| d.is_ascii_digit()) {
            nanos += i64::from(d - b'0') * scale;
            scale /= 10;
            at += 1;
        }
    }
    let offset = match b.get(at) {
        None | Some(b'Z' | b'z') => 0,
        Some(sign @ (b'+' | b'-')) => {
            let minutes_at = if sep(at + 3, b":") { at + 4 } else { at + 3 };
            let minutes = number(at + 1, 2)? * 60 + number(minutes_at, 2).unwrap_or(0);
            if *sign == b'+' { minutes } else { -minutes }
        }
        Some(_) => return None,
    };
    let seconds = days_from_civil(year, month, day) * 86_400 + hour * 3_600 + (minute - offset) * 60 + second;
    Some((seconds, nanos))
}

impl fmt::Display for Timestamp {
    /// As [`Timestamp::push`].
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::with_capacity(30);
        self.push(&mut text);
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl Timestamp {
    /// Appends RFC 3339 in UTC, with six digits of fraction, nine where the last three say something.
    pub fn push(self, out: &mut Vec<u8>) {
        self.push_near(&mut None, out);
    }

    /// As [`Timestamp::push`]; times that follow each other share the text of their second.
    pub fn push_near(self, known: &mut Option<Second>, out: &mut Vec<u8>) {
        let (number, nanos) = (self.0.div_euclid(1_000_000_000), self.0.rem_euclid(1_000_000_000));
        let second = match known {
            Some(second) if second.number == number => second,
            slot => slot.insert(Second::new(number)),
        };
        out.extend_from_slice(&second.text);
        let nanos = nanos as u32;
        let mut text = *b".000000000Z";
        let pairs =
            [(1, nanos / 10_000_000), (3, nanos / 100_000), (5, nanos / 1_000), (7, nanos / 10), (8, nanos)];
        pairs.into_iter().for_each(|(at, number)| put(&mut text, at, number % 100));
        if !nanos.is_multiple_of(1_000) {
            return out.extend_from_slice(&text);
        }
        text[7] = b'Z';
        out.extend_from_slice(&text[..8]);
    }
}

/// A second as RFC 3339 has it, in UTC.
#[derive(Clone, Copy, Debug)]
pub struct Second {
    number: i64,
    text: [u8; 19],
}

impl Second {
    /// 64 bits of nanoseconds reach from 1677 to 2262: years have four digits.
    fn new(number: i64) -> Self {
        let (days, second) = (number.div_euclid(86_400), number.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        let mut text = *b"0000-00-00T00:00:00";
        let pairs = [
            (0, year / 100),
            (2, year % 100),
            (5, month),
            (8, day),
            (11, second / 3_600),
            (14, second / 60 % 60),
            (17, second % 60),
        ];
        pairs.into_iter().for_each(|(at, number)| put(&mut text, at, number as u32));
        Self { number, text }
    }
}

/// Writes two digits.
fn put(text: &mut [u8], at: usize, number: u32) {
    if let Some([tens, ones]) = text.get_mut(at..at + 2) {
        (*tens, *ones) = (b'0' + (number / 10) as u8, b'0' + (number % 10) as u8);
    }
}

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar: years are counted
/// from March, so that the leap day is the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Year, month and day of a count of days since 1970-01-01 (proleptic Gregorian).
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        assert_eq!(Timestamp::parse(text).map(|t| t.to_string()).as_deref(), Some(shown));
    }

    #[test]
    fn reads_and_shows() {
        check("2023-11-14T22:13:20Z", "2023-11-14T22:13:20.000000Z");
        check("2026-11-30T10:15:02.123456789+02:00", "2026-11-30T08:15:02.123456789Z");
        check("1969-12-31 23:59:59.5-0030", "1970-01-01T00:29:59.500000Z");
        check("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000000Z");
        assert_eq!(Timestamp(i64::MIN).to_string(), "1677-09-21T00:12:43.145224192Z");
        assert_eq!(Timestamp(i64::MAX).to_string(), "2262-04-11T23:47:16.854775807Z");
    }

    #[test]
    fn refuses_what_is_no_time() {
        assert_eq!(Timestamp::parse("yesterday"), None);
        assert_eq!(Timestamp::parse("2024-13-01T00:00:00Z"), None);
        assert_eq!(Timestamp::from_seconds(f64::NAN), None);
    }
}
