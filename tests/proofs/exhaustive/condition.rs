//! Conditions of writes, as the store sends them, on what the model knows of an item.

use std::collections::BTreeMap;

/// The attributes of an item, and the values that a write compares them with.
#[derive(Default)]
pub(super) struct Known {
    attributes: BTreeMap<&'static str, String>,
    values: BTreeMap<&'static str, String>,
}

/// The rest of a condition.
struct Rest<'a> {
    words: Vec<&'a str>,
    known: &'a Known,
}

impl Known {
    pub(super) fn has(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.attributes.insert(name, value.into());
        self
    }

    pub(super) fn asks(&mut self, name: &'static str, value: impl Into<String>) -> &mut Self {
        self.values.insert(name, value.into());
        self
    }

    /// Whether a condition holds. One with words that are not known here panics.
    pub(super) fn holds(&self, condition: &str) -> bool {
        let spaced = condition.replace('(', " ( ").replace(')', " ) ");
        let mut words: Vec<_> = spaced.split_whitespace().collect();
        words.reverse();
        let mut rest = Rest { words, known: self };
        let holds = rest.any();
        assert!(rest.words.is_empty(), "{condition}: {:?} is not understood", rest.words);
        holds
    }
}

impl<'a> Rest<'a> {
    fn any(&mut self) -> bool {
        let mut holds = self.all();
        while self.next_if("OR") {
            holds |= self.all();
        }
        holds
    }

    fn all(&mut self) -> bool {
        let mut holds = self.one();
        while self.next_if("AND") {
            holds &= self.one();
        }
        holds
    }

    fn one(&mut self) -> bool {
        let holds = match self.take() {
            "(" => self.any(),
            "attribute_exists" => return self.exists(),
            "attribute_not_exists" => return !self.exists(),
            name => {
                let is_greater = self.next_if(">");
                if !is_greater {
                    self.expect("=");
                }
                let value = self.take();
                let known = self.known;
                let asked = known.values.get(value).unwrap_or_else(|| panic!("{value}"));
                let has = known.attributes.get(name);
                return if is_greater {
                    let number = |text: &String| text.parse::<i64>().unwrap();
                    has.is_some_and(|has| number(has) > number(asked))
                } else {
                    has == Some(asked)
                };
            }
        };
        self.expect(")");
        holds
    }

    fn exists(&mut self) -> bool {
        self.expect("(");
        let name = self.take();
        self.expect(")");
        self.known.attributes.contains_key(name)
    }

    fn take(&mut self) -> &'a str {
        self.words.pop().expect("the condition goes on")
    }

    fn next_if(&mut self, word: &str) -> bool {
        let is_it = self.words.last() == Some(&word);
        if is_it {
            self.words.pop();
        }
        is_it
    }

    fn expect(&mut self, word: &str) {
        assert!(self.next_if(word), "{word} and not {:?}", self.words.last());
    }
}

#[test]
fn a_condition_holds_by_its_words() {
    let mut known = Known::default();
    known.has("a", "1").has("b", "2").asks(":one", "1").asks(":two", "2");
    for (condition, expected) in [
        ("a = :one", true),
        ("a = :two", false),
        ("c = :one", false),
        ("attribute_exists(a) AND b = :two", true),
        ("attribute_not_exists(a) OR b = :two", true),
        ("attribute_not_exists(c) AND (a = :two OR b = :one)", false),
        ("a = :two AND a = :one OR b = :two", true),
        ("b > :one AND attribute_exists(a)", true),
        ("a > :one OR c > :one", false),
    ] {
        assert_eq!(known.holds(condition), expected, "{condition}");
    }
}
