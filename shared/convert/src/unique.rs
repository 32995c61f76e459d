//! Names that are given once.

use std::collections::BTreeMap;

/// Names that are taken, in any case, each with the number that was added last.
#[derive(Debug, Default)]
pub(crate) struct UniqueNames(BTreeMap<String, u32>);

impl UniqueNames {
    /// The name itself, or the name with the first number that makes it unique.
    pub(crate) fn take(&mut self, name: String, separator: char) -> String {
        let key = name.to_ascii_lowercase();
        let Some(last) = self.0.get(&key).copied() else {
            self.0.insert(key, 1);
            return name;
        };
        let mut n = last + 1;
        let mut unique = format!("{name}{separator}{n}");
        while self.0.contains_key(&unique.to_ascii_lowercase()) {
            n += 1;
            unique = format!("{name}{separator}{n}");
        }
        self.0.insert(key, n);
        self.0.insert(unique.to_ascii_lowercase(), 1);
        unique
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_given_once() {
        let mut names = UniqueNames::default();
        let given = ["a", "A", "a-2", "a", "b", "a-2"].map(|name| names.take(name.to_owned(), '-'));
        assert_eq!(given, ["a", "A-2", "a-2-2", "a-3", "b", "a-2-3"]);
    }
}
