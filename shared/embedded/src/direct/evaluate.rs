//! What expressions say of an item, and what they make of it.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::NotPerformed;
use super::expression::{Attribute, Comparison, Condition, Operand, Parsed, Term, Update};
use super::layout::Layout;
use super::request::Names;
use super::value::{Item, Value, number};

/// The names and values of a request, which its expressions refer to.
#[derive(Clone, Copy)]
pub(super) struct Bindings<'r> {
    pub(super) names: Option<&'r Names<'r>>,
    pub(super) values: Option<&'r Item<'r>>,
}

/// The names that the expressions of a request use.
#[derive(Default)]
pub(super) struct Uses<'e> {
    aliases: Vec<&'e str>,
    values: Vec<&'e str>,
}

impl<'e> Uses<'e> {
    pub(super) fn add<T>(&mut self, expression: &'e Parsed<T>) {
        for (used, list) in
            [(&mut self.aliases, &expression.aliases), (&mut self.values, &expression.values)]
        {
            for name in list {
                if !used.contains(&name.as_str()) {
                    used.push(name);
                }
            }
        }
    }

    /// Checks that each name that is used has a meaning, and each one with a meaning is used.
    pub(super) fn check(&self, bindings: Bindings<'_>) -> Result<(), NotPerformed> {
        let n_names = bindings.names.map_or(0, |names| names.0.len());
        let n_values = bindings.values.map_or(0, |values| values.0.len());
        let is_complete = self.aliases.len() == n_names
            && self.values.len() == n_values
            && self.aliases.iter().all(|alias| bindings.name(alias).is_some())
            && self.values.iter().all(|name| bindings.value(name).is_ok());
        // No request has an empty map.
        let is_empty = bindings.names.is_some_and(|names| names.0.is_empty())
            || bindings.values.is_some_and(|values| values.0.is_empty());
        let is_unchanged = bindings.values.is_none_or(Item::is_stored_unchanged);
        if is_complete && is_unchanged && !is_empty {
            Ok(())
        } else {
            Err(NotPerformed::NotSupported)
        }
    }
}

impl<'r> Bindings<'r> {
    /// The name that an alias stands for.
    pub(super) fn name(&self, alias: &str) -> Option<&'r str> {
        let name = self.names?.get(alias)?.0.as_ref();
        (!name.is_empty()).then_some(name)
    }

    pub(super) fn attribute<'x>(&self, attribute: &'x Attribute) -> Result<&'x str, NotPerformed>
    where
        'r: 'x,
    {
        match attribute {
            Attribute::Name(name) => Ok(name),
            Attribute::Alias(alias) => self.name(alias).ok_or(NotPerformed::NotSupported),
        }
    }

    pub(super) fn value(&self, name: &str) -> Result<&'r Value<'r>, NotPerformed> {
        self.values.and_then(|values| values.get(name)).ok_or(NotPerformed::NotSupported)
    }

    /// Finds what an operand stands for; nothing if the item has no such attribute.
    fn operand<'x>(
        &self,
        operand: &Operand,
        item: Option<&'x Item<'x>>,
    ) -> Result<Option<&'x Value<'x>>, NotPerformed>
    where
        'r: 'x,
    {
        match operand {
            Operand::Value(name) => self.value(name).map(Some),
            Operand::Attribute(attribute) => {
                let name = self.attribute(attribute)?;
                Ok(item.and_then(|item| item.get(name)))
            }
        }
    }

    fn both<'x>(
        &self,
        left: &Operand,
        right: &Operand,
        item: Option<&'x Item<'x>>,
    ) -> Result<Option<(&'x Value<'x>, &'x Value<'x>)>, NotPerformed>
    where
        'r: 'x,
    {
        Ok(self.operand(left, item)?.zip(self.operand(right, item)?))
    }

    /// Checks the values that a condition names. dynoxide checks their types before it reads the item, so
    /// that it refuses a wrong one even where the condition is decided without it.
    pub(super) fn check_condition(&self, condition: &Condition) -> Result<(), NotPerformed> {
        let given = |operand: &Operand| match operand {
            Operand::Value(name) => self.value(name).map(Some),
            Operand::Attribute(_) => Ok(None),
        };
        let has_order = |operand: &Operand| match given(operand)? {
            None | Some(Value::Text(_) | Value::Number(_)) => Ok(()),
            Some(_) => Err(NotPerformed::NotSupported),
        };
        match condition {
            Condition::And(a, b) | Condition::Or(a, b) => {
                self.check_condition(a)?;
                self.check_condition(b)
            }
            Condition::Not(inner) => self.check_condition(inner),
            Condition::Compare(_, Comparison::Equal | Comparison::NotEqual, _)
            | Condition::In(..)
            | Condition::Exists(_)
            | Condition::Missing(_) => Ok(()),
            Condition::Compare(left, _, right) => {
                has_order(left)?;
                has_order(right)
            }
            Condition::Between(operand, low, high) => {
                has_order(operand)?;
                has_order(low)?;
                has_order(high)?;
                let limits = given(low)?.zip(given(high)?);
                let order = limits.map(|(low, high)| low.order(high)).transpose()?;
                let is_right = order.is_none_or(|order| order.is_some_and(Ordering::is_le));
                if is_right { Ok(()) } else { Err(NotPerformed::NotSupported) }
            }
            Condition::BeginsWith(operand, prefix) => {
                let is_text = |given: Option<&_>| matches!(given, None | Some(Value::Text(_)));
                let is_right = is_text(given(operand)?) && is_text(given(prefix)?);
                if is_right { Ok(()) } else { Err(NotPerformed::NotSupported) }
            }
        }
    }

    /// Checks the values that an update adds and subtracts, and that it changes no attribute twice, as two
    /// aliases may stand for one attribute.
    pub(super) fn check_update(&self, update: &Update) -> Result<(), NotPerformed> {
        let changed = update.set.iter().map(|(attribute, _)| attribute).chain(&update.remove);
        let changed = changed.map(|attribute| self.attribute(attribute));
        if has_twice(&changed.collect::<Result<Vec<_>, _>>()?) {
            return Err(NotPerformed::NotSupported);
        }
        let is_number = |term: &Term| match term {
            Term::Operand(Operand::Value(name)) | Term::IfMissing(_, Operand::Value(name)) => {
                self.value(name)?.as_integer().map(drop)
            }
            _ => Ok(()),
        };
        update.set.iter().try_for_each(|(_, term)| match term {
            Term::Plus(a, b) | Term::Minus(a, b) => is_number(a).and_then(|()| is_number(b)),
            Term::Operand(_) | Term::IfMissing(..) => Ok(()),
        })
    }

    /// Returns whether a condition is true of an item, or of no item.
    pub(super) fn holds<'x>(
        &self,
        condition: &Condition,
        item: Option<&'x Item<'x>>,
    ) -> Result<bool, NotPerformed>
    where
        'r: 'x,
    {
        let has = |attribute| {
            let name = self.attribute(attribute)?;
            Ok(item.is_some_and(|item| item.get(name).is_some()))
        };
        match condition {
            Condition::And(a, b) => Ok(self.holds(a, item)? && self.holds(b, item)?),
            Condition::Or(a, b) => Ok(self.holds(a, item)? || self.holds(b, item)?),
            Condition::Not(inner) => Ok(!self.holds(inner, item)?),
            Condition::Exists(attribute) => has(attribute),
            Condition::Missing(attribute) => has(attribute).map(|has| !has),
            Condition::Compare(left, comparison, right) => {
                match self.both(left, right, item)? {
                    Some((left, right)) => compare(left, *comparison, right),
                    // What does not exist is unequal to everything.
                    None => Ok(*comparison == Comparison::NotEqual),
                }
            }
            Condition::Between(operand, low, high) => {
                let Some((low, high)) = self.both(low, high, item)? else { return Ok(false) };
                let Some(value) = self.operand(operand, item)? else { return Ok(false) };
                Ok(compare(value, Comparison::GreaterOrEqual, low)?
                    && compare(value, Comparison::LessOrEqual, high)?)
            }
            Condition::In(operand, list) => {
                let Some(value) = self.operand(operand, item)? else { return Ok(false) };
                for candidate in list {
                    if let Some(candidate) = self.operand(candidate, item)?
                        && value.equals(candidate)?
                    {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Condition::BeginsWith(operand, prefix) => {
                let Some(Value::Text(prefix)) = self.operand(prefix, item)? else {
                    return Err(NotPerformed::NotSupported);
                };
                let begins = |value: &Value<'_>| match value {
                    Value::Text(text) => text.starts_with(prefix.as_ref()),
                    _ => false,
                };
                Ok(self.operand(operand, item)?.is_some_and(begins))
            }
        }
    }

    /// Applies an update to an item.
    pub(super) fn apply<'x>(
        &self,
        update: &Update,
        layout: &Layout,
        before: &Item<'x>,
    ) -> Result<Item<'x>, NotPerformed>
    where
        'r: 'x,
    {
        // dynoxide refuses to change the key, to which an alias may lead.
        let name_of = |attribute| match self.attribute(attribute)? {
            name if layout.is_key(name) => Err(NotPerformed::NotSupported),
            name => Ok(name),
        };
        let mut after = before.clone();
        for (attribute, term) in &update.set {
            after.set(name_of(attribute)?, self.term(term, before)?);
        }
        for attribute in &update.remove {
            after.remove(name_of(attribute)?);
        }
        Ok(after)
    }

    fn term<'x>(&self, term: &Term, item: &Item<'x>) -> Result<Value<'x>, NotPerformed>
    where
        'r: 'x,
    {
        let find = |operand: &Operand| match operand {
            Operand::Value(name) => self.value(name).cloned(),
            Operand::Attribute(attribute) => {
                let name = self.attribute(attribute)?;
                item.get(name).cloned().ok_or(NotPerformed::NotSupported)
            }
        };
        match term {
            Term::Operand(operand) => find(operand),
            Term::IfMissing(attribute, otherwise) => match item.get(self.attribute(attribute)?) {
                Some(value) => Ok(value.clone()),
                None => find(otherwise),
            },
            Term::Plus(a, b) => {
                let (a, b) = (self.term(a, item)?.as_integer()?, self.term(b, item)?.as_integer()?);
                number(a.checked_add(b).ok_or(NotPerformed::NotSupported)?)
            }
            Term::Minus(a, b) => {
                let (a, b) = (self.term(a, item)?.as_integer()?, self.term(b, item)?.as_integer()?);
                number(a.checked_sub(b).ok_or(NotPerformed::NotSupported)?)
            }
        }
    }

    /// Checks that a projection names no attribute twice, which dynoxide refuses.
    pub(super) fn check_projection(&self, projection: &[Attribute]) -> Result<(), NotPerformed> {
        let names = projection.iter().map(|attribute| self.attribute(attribute));
        let names: Vec<_> = names.collect::<Result<_, _>>()?;
        if has_twice(&names) { Err(NotPerformed::NotSupported) } else { Ok(()) }
    }

    /// The attributes of an item that a projection names.
    pub(super) fn project<'x>(
        &self,
        projection: &[Attribute],
        item: &Item<'x>,
    ) -> Result<Item<'x>, NotPerformed> {
        let mut projected = Item { 0: Vec::with_capacity(projection.len()) };
        for attribute in projection {
            let name = self.attribute(attribute)?;
            if let Some(value) = item.get(name) {
                projected.0.push((Cow::Owned(name.to_owned()), value.clone()));
            }
        }
        Ok(projected)
    }
}

fn has_twice(names: &[&str]) -> bool {
    let mut rest = names;
    while let Some((name, after)) = rest.split_first() {
        if after.contains(name) {
            return true;
        }
        rest = after;
    }
    false
}

fn compare(
    left: &Value<'_>,
    comparison: Comparison,
    right: &Value<'_>,
) -> Result<bool, NotPerformed> {
    match comparison {
        Comparison::Equal => left.equals(right),
        Comparison::NotEqual => left.equals(right).map(|equal| !equal),
        Comparison::Less => Ok(left.order(right)?.is_some_and(Ordering::is_lt)),
        Comparison::LessOrEqual => Ok(left.order(right)?.is_some_and(Ordering::is_le)),
        Comparison::Greater => Ok(left.order(right)?.is_some_and(Ordering::is_gt)),
        Comparison::GreaterOrEqual => Ok(left.order(right)?.is_some_and(Ordering::is_ge)),
    }
}
