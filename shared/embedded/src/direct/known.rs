//! The expressions that dynoxide has accepted.
//!
//! dynoxide refuses what DynamoDB refuses in an expression: reserved words, an attribute that is set twice,
//! and so on. The parser here does not know all of that. So an expression goes to dynoxide first, and is
//! parsed here once dynoxide has performed a request with it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::NotPerformed;
use super::expression::{self, Attribute, Condition, Parsed, Update};

/// The most expressions of a kind. Minutehand has a few dozen.
const EXPRESSIONS_MAX: usize = 512;

/// Expressions of one kind, parsed. Those that the parser does not know are `None`.
#[derive(Debug)]
pub(super) struct Known<T> {
    parse: fn(&str) -> Option<Parsed<T>>,
    parsed: RefCell<HashMap<String, Option<Arc<Parsed<T>>>>>,
}

/// The expressions by what they are for. DynamoDB checks them differently: a filter, for instance, may not
/// name an attribute of the key, as a condition may.
#[derive(Debug)]
pub(super) struct KnownExpressions {
    pub(super) conditions: Known<Condition>,
    pub(super) updates: Known<Update>,
    pub(super) keys: Known<Condition>,
    pub(super) filters: Known<Condition>,
    pub(super) projections: Known<Vec<Attribute>>,
}

impl Default for KnownExpressions {
    fn default() -> Self {
        Self {
            conditions: Known::new(expression::condition),
            updates: Known::new(expression::update),
            keys: Known::new(expression::condition),
            filters: Known::new(expression::condition),
            projections: Known::new(expression::projection),
        }
    }
}

impl<T> Known<T> {
    fn new(parse: fn(&str) -> Option<Parsed<T>>) -> Self {
        Self { parse, parsed: RefCell::default() }
    }

    /// Finds an expression.
    pub(super) fn find(&self, text: &str) -> Result<Arc<Parsed<T>>, NotPerformed> {
        match self.parsed.borrow().get(text) {
            Some(Some(parsed)) => Ok(Arc::clone(parsed)),
            Some(None) => Err(NotPerformed::NotSupported),
            None => Err(NotPerformed::NotKnown),
        }
    }

    /// Keeps an expression that dynoxide has accepted.
    pub(super) fn keep(&self, text: &str) {
        let mut known = self.parsed.borrow_mut();
        if known.contains_key(text) {
            return;
        }
        if known.len() >= EXPRESSIONS_MAX {
            known.clear();
        }
        known.insert(text.to_owned(), (self.parse)(text).map(Arc::new));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_unknown_until_it_is_kept() {
        let known = KnownExpressions::default().conditions;
        assert!(matches!(known.find("a = :v"), Err(NotPerformed::NotKnown)));
        known.keep("a = :v");
        assert!(known.find("a = :v").is_ok());
        known.keep("size(a) > :v");
        assert!(matches!(known.find("size(a) > :v"), Err(NotPerformed::NotSupported)));
    }

    #[test]
    fn the_number_of_expressions_is_bounded() {
        let known = KnownExpressions::default().conditions;
        for n in 0..3 * EXPRESSIONS_MAX {
            known.keep(&format!("a{n} = :v"));
        }
        assert!(known.parsed.borrow().len() <= EXPRESSIONS_MAX);
    }
}
