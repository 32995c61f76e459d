//! Reads JSON: objects with known properties, and whole numbers.

use serde_json::{Map, Value};

use crate::error::{Refused, nearest};

/// A message quotes at most this many characters of an unknown name.
const NAME_CHARS_MAX: usize = 60;

/// A JSON object that may have known properties only.
pub(crate) struct Object<'a> {
    /// The name of the object in messages; empty for the outermost one.
    path: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Object<'a> {
    /// Checks that a value is an object.
    pub(crate) fn new(path: &'a str, json: &'a Value) -> Result<Self, Refused> {
        let map = json
            .as_object()
            .ok_or_else(|| Refused::not_allowed(path, json, "use a JSON object"))?;
        Ok(Self { path, map })
    }

    /// Returns the values of the properties; each may have several spellings, in any case.
    ///
    /// A property that is `null` counts as missing. An unknown name is refused: otherwise a misspelt
    /// `schedule` would silently become a job that runs every day.
    pub(crate) fn properties<const N: usize>(
        &self,
        known: [&[&'static str]; N],
    ) -> Result<[Option<&'a Value>; N], Refused> {
        let mut found: [Option<(&str, &Value)>; N] = [None; N];
        for (name, value) in self.map {
            let mut slots = found.iter_mut().zip(known);
            let Some((slot, spellings)) =
                slots.find(|(_, names)| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
            else {
                return Err(self.unknown(name, &known));
            };
            if value.is_null() {
                continue;
            }
            match *slot {
                // Answers of the API spell `occurrence` in two cases, and clients send them back.
                Some((first, same)) if first.eq_ignore_ascii_case(name) && same == value => {}
                Some((first, _)) => {
                    let canonical = spellings.first().copied().unwrap_or(first);
                    return Err(Refused::Twice {
                        field: self.path_of(canonical),
                        first: first.to_owned(),
                        second: name.clone(),
                    });
                }
                None => *slot = Some((name, value)),
            }
        }
        Ok(found.map(|slot| slot.map(|(_, value)| value)))
    }

    fn unknown(&self, name: &str, known: &[&[&'static str]]) -> Refused {
        let names = known.iter().copied().flatten().copied();
        let meant = nearest(name, names);
        let hint = meant.map_or_else(
            || {
                let canonical: Vec<_> =
                    known.iter().filter_map(|names| names.first().copied()).collect();
                format!("known properties are {}.", canonical.join(", "))
            },
            |meant| format!("did you mean '{meant}'?"),
        );
        let written: String =
            name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
        Refused::Unknown { field: self.path_of(&written), hint, meant }
    }

    fn path_of(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// Reads a whole number in a range; `3.0` is a whole number.
pub(crate) fn whole(json: &Value, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    let number = json.as_i64().or_else(|| {
        let float = json.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15)?;
        format!("{float:.0}").parse().ok()
    })?;
    range.contains(&number).then_some(number)
}
