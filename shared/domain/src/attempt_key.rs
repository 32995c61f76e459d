//! Attempts as part of a sort key: every process computes the same text, and the texts sort in the
//! order in which attempts follow each other.
//!
//! `{nominal}.{generation}.{s|r{run id}}.{a|e|f}{number}`: the instant in ticks as sixteen digits to
//! the base of sixteen, and numbers with a letter before them that tells how many digits follow, so
//! that the texts sort as the numbers do. `a` is the action, `e` the error action and `f` the notice of
//! the failure, each newer than the one before.
//! The text contains neither when an attempt started nor when it is due.

use chrono::{DateTime, Utc};

use crate::attempt::{Attempt, Occurrence, Role};
use crate::tick::{from_ticks, ticks};

/// Flipping this bit makes signed numbers sort as unsigned ones.
const SIGN: u64 = 1 << 63;

/// An attempt as text.
#[must_use]
pub fn attempt_key(attempt: &Attempt) -> String {
    let role = match attempt.role {
        Role::Main => 'a',
        Role::Error => 'e',
        Role::Notice => 'f',
    };
    format!("{}.{role}{}", occurrence_key(attempt), sorted(attempt.number.into()))
}

/// The occurrence of an attempt as text: what the texts of all its attempts begin with.
#[must_use]
pub fn occurrence_key(attempt: &Attempt) -> String {
    let Attempt { generation, occurrence, .. } = attempt;
    let nominal = nominal_key(occurrence.nominal_at());
    let what = match occurrence {
        Occurrence::Scheduled { .. } => "s".to_owned(),
        Occurrence::Run { run_id, .. } => format!("r{run_id}"),
    };
    format!("{nominal}.{}.{what}", sorted(*generation))
}

/// The instant of an occurrence, with which the texts of its attempts begin.
#[must_use]
pub fn nominal_key(nominal_at: DateTime<Utc>) -> String {
    format!("{:016x}", ticks(nominal_at).cast_unsigned() ^ SIGN)
}

/// Reads an attempt. It is due at the instant of its occurrence, unless another due time is given.
#[must_use]
pub fn read_attempt(text: &str, due_at: Option<DateTime<Utc>>) -> Option<Attempt> {
    let (nominal, rest) = text.split_once('.')?;
    let (generation, rest) = rest.split_once('.')?;
    let (what, role_and_number) = rest.rsplit_once('.')?;
    let nominal = u64::from_str_radix(nominal, 16).ok()?;
    let nominal_at = from_ticks((nominal ^ SIGN).cast_signed())?;
    let occurrence = match what.strip_prefix('r') {
        Some(run_id) => Occurrence::Run { asked_at: nominal_at, run_id: run_id.to_owned() },
        None if what == "s" => Occurrence::Scheduled { nominal_at },
        None => return None,
    };
    let (role, number) = role_and_number.split_at_checked(1)?;
    Some(Attempt {
        role: match role {
            "a" => Role::Main,
            "e" => Role::Error,
            "f" => Role::Notice,
            _ => return None,
        },
        number: read_sorted(number)?.try_into().ok()?,
        due_at: due_at.unwrap_or(nominal_at),
        ..Attempt::first(read_sorted(generation)?, occurrence)
    })
}

/// A number with a letter before it for its length: `a7`, `b10`.
fn sorted(number: u64) -> String {
    let digits = number.to_string();
    // Twenty digits at most, so there is a letter for each length.
    let length = u8::try_from(digits.len()).map_or('z', |length| char::from(b'`' + length));
    format!("{length}{digits}")
}

fn read_sorted(text: &str) -> Option<u64> {
    text.get(1..)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn scheduled(generation: u64, second: i64) -> Attempt {
        Attempt::first(generation, Occurrence::Scheduled { nominal_at: at(second) })
    }

    /// Stored items are found under these texts, so they must never change.
    #[test]
    fn texts_never_change() {
        let run = Occurrence::Run { asked_at: at(60), run_id: "5f".to_owned() };
        for (attempt, text) in [
            (scheduled(1, 60), "8000000023c34600.a1.s.aa0"),
            (Attempt { number: 12, ..scheduled(10, -1) }, "7fffffffff676980.b10.s.ab12"),
            (
                Attempt { role: Role::Error, ..Attempt::first(3, run) },
                "8000000023c34600.a3.r5f.ea0",
            ),
        ] {
            assert_eq!(attempt_key(&attempt), text);
            assert_eq!(read_attempt(text, None), Some(attempt));
        }
    }

    #[test]
    fn texts_sort_as_attempts_follow_each_other() {
        let error = |attempt: Attempt| Attempt { role: Role::Error, ..attempt };
        let notice = |attempt: Attempt| Attempt { role: Role::Notice, ..attempt };
        let number = |number, attempt: Attempt| Attempt { number, ..attempt };
        let in_order = [
            scheduled(1, -1),
            scheduled(7, 0),
            scheduled(1, 60),
            number(1, scheduled(1, 60)),
            number(9, scheduled(1, 60)),
            number(10, scheduled(1, 60)),
            error(scheduled(1, 60)),
            number(2, error(scheduled(1, 60))),
            notice(scheduled(1, 60)),
            number(1, notice(scheduled(1, 60))),
            scheduled(2, 60),
            scheduled(10, 60),
            scheduled(u64::MAX, 60),
            scheduled(1, 61),
            scheduled(1, 253_402_300_799),
        ];
        let texts: Vec<String> = in_order.iter().map(attempt_key).collect();
        assert!(texts.is_sorted(), "{texts:#?}");
    }

    #[test]
    fn the_text_does_not_contain_the_due_time() {
        let retry = Attempt { number: 1, due_at: at(95), ..scheduled(1, 60) };
        let text = attempt_key(&retry);
        assert_eq!(text, attempt_key(&Attempt { due_at: at(99), ..retry.clone() }));
        assert_eq!(read_attempt(&text, Some(at(95))), Some(retry));
    }

    #[test]
    fn any_other_text_is_no_attempt() {
        for text in [
            "",
            "8000000023c34600",
            "8000000023c34600.a1.x.aa0",
            "8000000023c34600.a1.s.xa0",
            "8000000023c34600.a.s.aa0",
            "8000000023c34600.a1.s.aa",
            "8000000023c34600.a1.s.",
            "8000000023c34600.a1.s.aj4294967296",
            "zz.a1.s.aa0",
            "ffffffffffffffff.a1.s.aa0",
        ] {
            assert_eq!(read_attempt(text, None), None, "{text}");
        }
    }
}
