//! Sessions with holes, flipped bits and rubbish: what is whole still comes out, and nothing else does.

use super::*;

/// Where the hole of one direction lies, in bytes of it.
fn with_hole(fixture: &Fixture, dir: Dir, hole: std::ops::Range<usize>) -> Vec<In> {
    let mut input = vec![In::Keys(fixture.keys.clone())];
    let mut place = 0;
    for (d, bytes) in &fixture.wire {
        if *d != dir {
            input.push(In::Data(*d, bytes.clone()));
            continue;
        }
        let clamp = |at: usize| at.saturating_sub(place).min(bytes.len());
        let (from, to) = (clamp(hole.start), clamp(hole.end));
        if from > 0 {
            input.push(In::Data(*d, bytes[..from].to_vec()));
        }
        if to > from {
            input.push(In::Gap(*d, (to - from) as u64));
        }
        if to < bytes.len() {
            input.push(In::Data(*d, bytes[to..].to_vec()));
        }
        place += bytes.len();
    }
    input
}

/// A hole anywhere costs the records it touches, and its plaintext is counted where that is possible: with
/// every gap filled by what was sent there, the rest fits; after `Lost`, it fits some place further on.
fn check_holes(fixture: &Fixture, length: usize, step: usize, exact: bool) {
    for dir in [Dir::ToServer, Dir::ToClient] {
        let total: usize = fixture.wire.iter().filter(|(d, _)| *d == dir).map(|(_, b)| b.len()).sum();
        for start in (0..total).step_by(step) {
            let input = with_hole(fixture, dir, start..start + length);
            let seen = run(&input, 1 << 20);
            assert_eq!(seen, run(&input, 13), "hole at {start}");
            let (plain, i) = (&fixture.plain[dir.index()], dir.index());
            let mut place = 0;
            let mut taken = 0;
            let marks = seen.marks.iter().filter(|(d, ..)| *d == dir);
            for (_, at, mark) in marks {
                let run = &seen.plain[i][taken..*at];
                assert!(
                    plain[place.min(plain.len())..].starts_with(run),
                    "hole at {start}: {:?}",
                    seen.marks
                );
                place += run.len();
                taken = *at;
                if let Some(gap) = mark.strip_prefix("Gap(") {
                    place += gap.trim_end_matches(')').parse::<usize>().unwrap();
                } else if mark == "Lost" {
                    let rest = &seen.plain[i][taken..];
                    let next = seen
                        .marks
                        .iter()
                        .find(|m| m.0 == dir && m.1 > taken)
                        .map_or(rest.len(), |m| m.1 - taken);
                    // With nothing after it, all that was left is lost.
                    place = match next {
                        0 => plain.len(),
                        _ => plain[place..].windows(next).position(|w| w == &rest[..next]).map_or_else(
                            || panic!("hole at {start}: {:?}", seen.marks),
                            |found| place + found,
                        ),
                    };
                }
            }
            // The other direction loses nothing, unless the hole took what it needs.
            let handshake: usize =
                fixture.wire.iter().take(4).filter(|(d, _)| *d == dir).map(|(_, b)| b.len()).sum();
            if start >= handshake {
                assert_eq!(seen.plain[1 - i], fixture.plain[1 - i], "hole at {start}");
                // What ends in a hole is not told.
                let reached = place == plain.len() || start + length + 64 >= total || !exact;
                assert!(
                    reached,
                    "hole at {start} of {total}: {place} of {} {:?} {:?}",
                    plain.len(),
                    seen.marks,
                    seen.findings
                );
            }
        }
    }
}

#[test]
fn holes() {
    check_holes(&fixture!("tls13-aes128gcm"), 30, 41, true);
    check_holes(&fixture!("tls13-aes128gcm"), 700, 97, true);
    check_holes(&fixture!("tls13-chacha"), 1, 61, true);
    check_holes(&fixture!("tls13-chacha"), 2500, 211, true);
    check_holes(&fixture!("tls13-keyupdate"), 60, 7, true);
    check_holes(&fixture!("tls12-gcm"), 400, 89, true);
    check_holes(&fixture!("tls12-chacha"), 100, 83, true);
    check_holes(&fixture!("tls12-ccm"), 50, 71, true);
    check_holes(&fixture!("tls12-cbc-sha256"), 90, 67, false);
    check_holes(&fixture!("tls12-cbc-sha256-etm"), 300, 67, false);
}

/// A flipped bit costs its record: nothing made up comes out, and the rest does.
#[test]
fn flipped_bits() {
    for fixture in [fixture!("tls13-aes128gcm"), fixture!("tls12-cbc-sha1"), fixture!("tls12-chacha")] {
        for segment in 4..fixture.wire.len() {
            let mut wire = fixture.wire.clone();
            let (dir, bytes) = &mut wire[segment];
            let (dir, last) = (*dir, bytes.len() - 1);
            bytes[last] ^= 1;
            let seen = run(
                &whole(&Fixture { wire, keys: fixture.keys.clone(), plain: Default::default() }),
                1 << 20,
            );
            let (got, sent) = (&seen.plain[dir.index()], &fixture.plain[dir.index()]);
            assert!(got.len() <= sent.len());
            let front = got.iter().zip(sent).take_while(|(a, b)| a == b).count();
            assert!(sent.ends_with(&got[front..]), "segment {segment}");
            check_finding(&fixture, &seen, Code::NetTlsDamaged, &["do not authenticate"]);
            assert_eq!(seen.plain[1 - dir.index()], fixture.plain[1 - dir.index()]);
        }
    }
}

/// No prefix and no rubbish makes it panic, loop, or give what was not sent.
#[test]
fn prefixes_and_rubbish() {
    for fixture in [fixture!("tls13-keyupdate"), fixture!("tls12-renegotiated"), fixture!("tls13-early")] {
        for end in 0..fixture.wire.len() {
            let mut wire = fixture.wire[..=end].to_vec();
            let last = &mut wire[end].1;
            last.truncate(last.len() / 2);
            let seen =
                run(&whole(&Fixture { wire, keys: fixture.keys.clone(), plain: Default::default() }), 5);
            for (got, sent) in seen.plain.iter().zip(&fixture.plain) {
                assert!(sent.starts_with(got));
            }
        }
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for _ in 0..300 {
            let mut input = whole(&fixture);
            for _ in 0..4 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let place = (state >> 8) as usize % input.len();
                match &mut input[place] {
                    In::Data(dir, bytes) if state & 0x80 == 0 => {
                        let (dir, length) = (*dir, bytes.len());
                        bytes.truncate((state >> 20) as usize % (length + 1));
                        let gap = if state & 0x40 == 0 { state >> 50 } else { (length - bytes.len()) as u64 };
                        input.insert(place + 1, In::Gap(dir, gap));
                    }
                    In::Data(_, bytes) if !bytes.is_empty() => {
                        let at = (state >> 20) as usize % bytes.len();
                        bytes[at] ^= (state >> 40) as u8;
                    }
                    In::Data(..) | In::Gap(..) | In::Keys(_) => {}
                }
            }
            run(&input, 1 << 20);
        }
    }
}
