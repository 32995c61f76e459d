//! JSON without repeated names. `serde_json` would take the last value of a name in silence.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The most characters of a repeated name in a message.
const NAME_CHARS_MAX: usize = 60;

/// A JSON value in which no object has a name twice.
pub(crate) struct Unique(pub(crate) Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Unique(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut properties: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = properties.next_key::<String>()? {
            if object.contains_key(&name) {
                let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
                let shown = shown.escape_debug();
                return Err(Error::custom(format!("an object has the name '{shown}' twice")));
            }
            let Unique(value) = properties.next_value()?;
            object.insert(name, value);
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Value, String> {
        let read = serde_json::from_str(text).map(|Unique(value)| value);
        read.map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_those_of_serde_json() {
        for text in [
            "null",
            "true",
            "-1",
            "18446744073709551615",
            "1.0",
            "1e3",
            r#""a\u00e4\n""#,
            "[1,[],{}]",
            r#"{"b":{"a":1},"a":[{"a":1},{"a":2}],"A":null}"#,
        ] {
            assert_eq!(read(text).unwrap(), serde_json::from_str::<Value>(text).unwrap(), "{text}");
        }
        for text in ["", "{", "nul", "[1,]", "1 2", &"[".repeat(200)] {
            let expected = serde_json::from_str::<Value>(text).unwrap_err().to_string();
            assert_eq!(read(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn a_repeated_name_is_refused_with_its_place() {
        let twice = |name: &str, place: &str| {
            Err(format!("an object has the name '{name}' twice at line {place}"))
        };
        assert_eq!(read(r#"{"a":1,"a":1}"#), twice("a", "1 column 10"));
        assert_eq!(read("{\"a\":[{\"b\":1,\n\"\\u0062\":2}]}"), twice("b", "2 column 8"));
        let long = "x\u{202e}".repeat(100);
        let message = read(&format!(r#"{{"{long}":1,"{long}":1}}"#)).unwrap_err();
        assert!(message.len() < 400 && !message.contains('\u{202e}'), "{message}");
    }
}
