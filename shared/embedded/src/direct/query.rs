//! Queries of a table or an index.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::params_from_iter;

use super::evaluate::{Bindings, Uses};
use super::expression::{Attribute, Comparison, Condition, Operand, Parsed};
use super::layout::{Index, KeyAttribute, KeyAttributes, Layout};
use super::request::{QueryRequest, Select};
use super::value::Item;
use super::{Direct, NotPerformed, Tables};

/// The most bytes of items that a query reads. The item that would exceed it is the first of the next page.
const PAGE_BYTES_MAX: usize = 1024 * 1024;

/// The part of a partition that a query reads.
struct KeyRange {
    /// The partition, as it is stored.
    pk: String,
    /// Where it begins and ends: an operator of SQL, and the stored sort key.
    limits: Vec<(&'static str, String)>,
}

/// A query, with what it refers to.
struct Prepared<'q> {
    request: &'q QueryRequest<'q>,
    bindings: Bindings<'q>,
    layout: &'q Layout,
    /// The index that is read, if it is not the table.
    index: Option<&'q Index>,
    keys: Arc<Parsed<Condition>>,
    filter: Option<Arc<Parsed<Condition>>>,
    projection: Option<Arc<Parsed<Vec<Attribute>>>>,
}

/// What the rows of a query make.
#[derive(Default)]
struct Answer {
    /// The items, without those that are only counted.
    items: String,
    count: usize,
    n_read: usize,
    n_bytes: usize,
    /// The last item that was read.
    last: String,
}

/// Reads a page of a partition.
pub(super) fn query(
    direct: &Direct,
    tables: &Tables<'_>,
    request: &QueryRequest<'_>,
) -> Result<Vec<u8>, NotPerformed> {
    let layout = direct.layout(tables, &request.table_name)?;
    let query = Prepared::new(direct, &layout, request)?;
    let (sql, values) = query.sql()?;
    let mut statement = tables.connection().prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut answer = Answer::default();
    while let Some(row) = rows.next()? {
        let json = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        // The rows of an index have no size.
        let size = match query.index {
            Some(_) => Item::read(json)?.size(),
            None => row.get(1)?,
        };
        if answer.n_read > 0 && answer.n_bytes + size > PAGE_BYTES_MAX {
            return query.written(&answer, true);
        }
        answer.n_bytes += size;
        answer.n_read += 1;
        answer.last.clear();
        answer.last.push_str(json);
        query.add(json, &mut answer)?;
        if Some(answer.n_read) == request.limit {
            return query.written(&answer, true);
        }
    }
    query.written(&answer, false)
}

impl<'q> Prepared<'q> {
    fn new(
        direct: &Direct,
        layout: &'q Layout,
        request: &'q QueryRequest<'q>,
    ) -> Result<Self, NotPerformed> {
        let index = match &request.index_name {
            None => None,
            // dynoxide refuses a consistent read of an index.
            Some(_) if request.consistent_read == Some(true) => {
                return Err(NotPerformed::NotSupported);
            }
            Some(name) => {
                let mut indexes = layout.indexes.iter();
                Some(indexes.find(|index| index.name == name.0).ok_or(NotPerformed::NotSupported)?)
            }
        };
        if request.limit == Some(0)
            || (request.select.is_some() && request.projection_expression.is_some())
        {
            return Err(NotPerformed::NotSupported);
        }
        let known = &direct.known;
        let keys = known.keys.find(&request.key_condition_expression.0)?;
        let filter = request.filter_expression.as_ref();
        let filter = filter.map(|text| known.filters.find(&text.0)).transpose()?;
        let projection = request.projection_expression.as_ref();
        let projection = projection.map(|text| known.projections.find(&text.0)).transpose()?;
        let bindings = Bindings {
            names: request.expression_attribute_names.as_ref(),
            values: request.expression_attribute_values.as_ref(),
        };
        let query = Self { request, bindings, layout, index, keys, filter, projection };
        query.check()?;
        Ok(query)
    }

    /// Checks what dynoxide would refuse.
    fn check(&self) -> Result<(), NotPerformed> {
        let mut uses = Uses::default();
        uses.add(&self.keys);
        if let Some(filter) = &self.filter {
            uses.add(filter);
        }
        if let Some(projection) = &self.projection {
            uses.add(projection);
        }
        uses.check(self.bindings)?;
        if let Some(filter) = &self.filter {
            self.bindings.check_condition(&filter.tree)?;
            // A filter has no attribute of the key.
            let aliased = filter.aliases.iter().filter_map(|alias| self.bindings.name(alias));
            let mut names = filter.names.iter().map(String::as_str).chain(aliased);
            if names.any(|name| self.key().has(name)) {
                return Err(NotPerformed::NotSupported);
            }
        }
        match &self.projection {
            Some(projection) => self.bindings.check_projection(&projection.tree),
            None => Ok(()),
        }
    }

    /// The key of what is read.
    fn key(&self) -> &'q KeyAttributes {
        self.index.map_or(&self.layout.key, |index| &index.key)
    }

    fn sql(&self) -> Result<(String, Vec<String>), NotPerformed> {
        let forward = self.request.scan_index_forward != Some(false);
        let mut range = KeyRange::of(&self.keys.tree, self.key(), self.bindings)?;
        let start = match &self.request.exclusive_start_key {
            Some(start) => range.start_after(start, self, forward)?,
            None => Vec::new(),
        };
        let query = self.index.map_or(&self.layout.query, |index| &index.query);
        Ok(range.sql(query, self.index.is_some(), start, forward))
    }

    /// Adds an item to the answer, if it passes the filter.
    fn add(&self, json: &str, answer: &mut Answer) -> Result<(), NotPerformed> {
        if let Some(filter) = &self.filter
            && !self.bindings.holds(&filter.tree, Some(&Item::read(json)?))?
        {
            return Ok(());
        }
        answer.count += 1;
        match &self.projection {
            _ if self.is_counted() => {}
            Some(projection) => {
                let item = Item::read(json)?;
                answer.push(&self.bindings.project(&projection.tree, &item)?.json()?);
            }
            None => answer.push(json),
        }
        Ok(())
    }

    /// Whether the items are only counted.
    fn is_counted(&self) -> bool {
        self.request.select == Some(Select::Count)
    }

    /// Writes the answer.
    fn written(&self, answer: &Answer, has_more: bool) -> Result<Vec<u8>, NotPerformed> {
        let Answer { items, count, n_read, last, .. } = answer;
        let items = if self.is_counted() { String::new() } else { format!("\"Items\":[{items}],") };
        let last = if has_more { Some(self.last_key(&Item::read(last)?)?) } else { None };
        let last = last.map_or_else(String::new, |key| format!(",\"LastEvaluatedKey\":{key}"));
        let body = format!("{{{items}\"Count\":{count},\"ScannedCount\":{n_read}{last}}}");
        Ok(body.into_bytes())
    }

    /// The key of an item in the table, and in the index that is read.
    fn last_key(&self, item: &Item<'_>) -> Result<String, NotPerformed> {
        let mut key = Item { 0: Vec::with_capacity(4) };
        for name in self.layout.key.names().chain(self.key().names()) {
            key.set(name, item.get(name).ok_or(NotPerformed::NotSupported)?.clone());
        }
        key.json()
    }
}

impl KeyRange {
    /// Reads a condition on keys: the partition, and perhaps a part of it.
    fn of(
        condition: &Condition,
        key: &KeyAttributes,
        bindings: Bindings<'_>,
    ) -> Result<Self, NotPerformed> {
        let (hash, range) = match condition {
            Condition::And(hash, range) => (hash.as_ref(), Some(range.as_ref())),
            hash => (hash, None),
        };
        let value = |operand: &Operand| match operand {
            Operand::Value(name) => bindings.value(name),
            Operand::Attribute(_) => Err(NotPerformed::NotSupported),
        };
        let is = |operand: &Operand, attribute: &KeyAttribute| match operand {
            Operand::Attribute(named) => Ok(bindings.attribute(named)? == attribute.name),
            Operand::Value(_) => Err(NotPerformed::NotSupported),
        };
        let pk = match hash {
            Condition::Compare(left, Comparison::Equal, right) if is(left, &key.hash)? => {
                key.hash.stored(value(right)?)?
            }
            _ => return Err(NotPerformed::NotSupported),
        };
        let mut limits = Vec::new();
        if let Some(range) = range {
            let attribute = key.range.as_ref().ok_or(NotPerformed::NotSupported)?;
            let stored = |operand: &Operand| attribute.stored(value(operand)?);
            match range {
                Condition::Compare(left, comparison, right) if is(left, attribute)? => {
                    let operator = match comparison {
                        Comparison::Equal => "=",
                        Comparison::Less => "<",
                        Comparison::LessOrEqual => "<=",
                        Comparison::Greater => ">",
                        Comparison::GreaterOrEqual => ">=",
                        Comparison::NotEqual => return Err(NotPerformed::NotSupported),
                    };
                    limits.push((operator, stored(right)?));
                }
                Condition::Between(operand, low, high) if is(operand, attribute)? => {
                    let (low, high) = (stored(low)?, stored(high)?);
                    // dynoxide refuses limits in the wrong order.
                    if low > high {
                        return Err(NotPerformed::NotSupported);
                    }
                    limits.extend([(">=", low), ("<=", high)]);
                }
                Condition::BeginsWith(operand, prefix) if is(operand, attribute)? => {
                    let prefix = attribute.stored_prefix(value(prefix)?)?;
                    limits.push(("<", after_prefix(&prefix).ok_or(NotPerformed::NotSupported)?));
                    limits.push((">=", prefix));
                }
                _ => return Err(NotPerformed::NotSupported),
            }
        }
        Ok(Self { pk, limits })
    }

    /// Returns whether a sort key is in the range.
    fn has(&self, sk: &str) -> bool {
        self.limits.iter().all(|(operator, limit)| match *operator {
            "=" => sk == limit,
            "<" => sk < limit.as_str(),
            "<=" => sk <= limit.as_str(),
            ">" => sk > limit.as_str(),
            _ => sk >= limit.as_str(),
        })
    }

    /// The stored key after which the query goes on: of the table, or of an index and then of the table.
    fn start_after(
        &mut self,
        start: &Item<'_>,
        query: &Prepared<'_>,
        forward: bool,
    ) -> Result<Vec<String>, NotPerformed> {
        let stored =
            |key: &KeyAttributes| key.stored_key_of(start)?.ok_or(NotPerformed::NotSupported);
        let (table, read) = (stored(&query.layout.key)?, stored(query.key())?);
        let names: HashSet<&str> = query.layout.key.names().chain(query.key().names()).collect();
        // dynoxide refuses a start that is outside of what is read. Without a sort key, it begins anew.
        let begins_anew = query.index.is_none() && query.layout.key.range.is_none();
        if begins_anew || start.0.len() != names.len() || read.pk != self.pk || !self.has(&read.sk)
        {
            return Err(NotPerformed::NotSupported);
        }
        if query.index.is_some() {
            return Ok(vec![read.sk, table.pk, table.sk]);
        }
        // A limit at which the range begins is behind the start.
        let passed = if forward { '>' } else { '<' };
        self.limits.retain(|(operator, _)| !operator.starts_with(passed));
        Ok(vec![read.sk])
    }

    /// The statement that reads the range, and its values.
    fn sql(
        self,
        query: &str,
        is_index: bool,
        start: Vec<String>,
        forward: bool,
    ) -> (String, Vec<String>) {
        let (sort_key, columns) = if is_index {
            ("gsi_sk", ["gsi_sk", "table_pk", "table_sk"].as_slice())
        } else {
            ("sk", ["sk"].as_slice())
        };
        let (after, direction) = if forward { (">", "ASC") } else { ("<", "DESC") };
        let mut values = vec![self.pk];
        let mut place = |value| {
            values.push(value);
            format!("?{}", values.len())
        };
        let mut conditions = vec![query.to_owned()];
        for (operator, limit) in self.limits {
            conditions.push(format!("{sort_key} {operator} {}", place(limit)));
        }
        if !start.is_empty() {
            let places: Vec<_> = start.into_iter().map(&mut place).collect();
            let (columns, places) = (columns.join(", "), places.join(", "));
            conditions.push(format!("({columns}) {after} ({places})"));
        }
        let order: Vec<_> = columns.iter().map(|column| format!("{column} {direction}")).collect();
        (format!("{} ORDER BY {}", conditions.join(" AND "), order.join(", ")), values)
    }
}

impl Answer {
    fn push(&mut self, item: &str) {
        if !self.items.is_empty() {
            self.items.push(',');
        }
        self.items.push_str(item);
    }
}

/// The first text after all texts with a prefix.
fn after_prefix(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        // The characters between are surrogates, which no text has.
        let next =
            if last == '\u{D7FF}' { Some('\u{E000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}
