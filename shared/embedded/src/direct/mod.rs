//! The requests that Minutehand repeats, performed on dynoxide's tables without dynoxide.
//!
//! dynoxide performs every request that DynamoDB knows, in any form, and refuses the others in DynamoDB's
//! words. For that it checks each request in full, parses each expression several times, compiles its SQL
//! each time, and turns every item into maps and back. Minutehand sends a few dozen forms of requests, over
//! and over. This module performs them with statements and expressions that were compiled before, and
//! passes stored items on as text. It takes a fraction of the time.
//!
//! It performs a request only if it is certain to do what dynoxide does. All others are left to dynoxide,
//! untouched:
//!
//! - operations, members of requests, functions and types of values that it does not know, such as sets;
//! - tables with a stream, a local or a vector index;
//! - expressions that dynoxide has not accepted yet ([`known`]);
//! - whatever dynoxide would refuse for another reason than a false condition.
//!
//! The tests perform the same requests in both ways, and compare all answers and all rows.
//!
//! Its writes are part of the caller's transaction. A request decides everything before it changes the
//! first row. If SQLite then refuses one of its writes, the caller's transaction has to be rolled back.

mod evaluate;
mod expression;
mod known;
mod layout;
mod query;
mod read;
mod request;
#[cfg(test)]
mod tests;
mod value;
mod write;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use dynoxide::storage::Storage;
use rusqlite::Connection;

use crate::operation::OperationAnswer;
use known::KnownExpressions;
use layout::Layout;
use request::{QueryRequest, TransactWriteRequest, WriteRequest};
use write::Kind;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Performed {
    Answered(OperationAnswer),
    /// It is left to dynoxide. If dynoxide accepts it, its expressions can be learned.
    Left {
        to_learn: bool,
    },
}

/// Why a request is not performed here.
#[derive(Debug)]
enum NotPerformed {
    /// It is of a form that is left to dynoxide.
    NotSupported,
    /// dynoxide has not accepted one of its expressions yet.
    NotKnown,
    /// SQLite has refused.
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for NotPerformed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// The tables of a database.
struct Tables<'s>(&'s Storage);

impl<'s> Tables<'s> {
    fn connection(&self) -> &'s Connection {
        self.0.conn()
    }
}

/// Performs requests, and remembers what it knows of tables and expressions.
#[derive(Debug, Default)]
pub(crate) struct Direct {
    /// The tables by name. A table that is left to dynoxide is `None`.
    layouts: RefCell<HashMap<String, Option<Arc<Layout>>>>,
    known: KnownExpressions,
}

impl Direct {
    /// Performs a request, if it is of a form that is performed here.
    ///
    /// # Errors
    ///
    /// If SQLite refuses. The request's writes may have been made in part.
    pub(crate) fn perform(
        &self,
        storage: &Storage,
        operation: &str,
        body: &[u8],
    ) -> rusqlite::Result<Performed> {
        let tables = &Tables(storage);
        let write = |kind| write::single(self, tables, kind, &request::read(body)?, body.len());
        let answer = match operation {
            "GetItem" => request::read(body).and_then(|it| read::get(self, tables, &it)).map(Ok),
            "BatchGetItem" => {
                request::read(body).and_then(|it| read::batch(self, tables, &it)).map(Ok)
            }
            "Query" => request::read(body).and_then(|it| query::query(self, tables, &it)).map(Ok),
            "PutItem" => write(Kind::Put),
            "UpdateItem" => write(Kind::Update),
            "DeleteItem" => write(Kind::Delete),
            "TransactWriteItems" => {
                request::read(body).and_then(|it| write::transaction(self, tables, &it, body.len()))
            }
            _ => Err(NotPerformed::NotSupported),
        };
        match answer {
            Ok(answer) => Ok(Performed::Answered(answer)),
            Err(NotPerformed::NotSupported) => Ok(Performed::Left { to_learn: false }),
            Err(NotPerformed::NotKnown) => Ok(Performed::Left { to_learn: true }),
            Err(NotPerformed::Sql(error)) => Err(error),
        }
    }

    /// Keeps the expressions of a request that dynoxide has accepted.
    pub(crate) fn learn(&self, operation: &str, body: &[u8], answer: &OperationAnswer) {
        if !is_accepted(answer) {
            return;
        }
        let known = &self.known;
        match operation {
            "PutItem" | "UpdateItem" | "DeleteItem" => {
                if let Ok(request) = request::read(body) {
                    self.learn_write(&request);
                }
            }
            "TransactWriteItems" => {
                let Ok(request) = request::read::<TransactWriteRequest<'_>>(body) else { return };
                let writes = request.transact_items.iter().filter_map(|item| item.write().ok());
                writes.for_each(|(_, write)| self.learn_write(write));
            }
            "Query" => {
                let Ok(request) = request::read::<QueryRequest<'_>>(body) else { return };
                known.keys.keep(&request.key_condition_expression.0);
                if let Some(filter) = &request.filter_expression {
                    known.filters.keep(&filter.0);
                }
                if let Some(projection) = &request.projection_expression {
                    known.projections.keep(&projection.0);
                }
            }
            _ => {}
        }
    }

    fn learn_write(&self, request: &WriteRequest<'_>) {
        if let Some(condition) = &request.condition_expression {
            self.known.conditions.keep(&condition.0);
        }
        if let Some(update) = &request.update_expression {
            self.known.updates.keep(&update.0);
        }
    }

    /// Forgets what it knows of tables, because one of them has changed.
    pub(crate) fn forget_tables(&self) {
        self.layouts.borrow_mut().clear();
    }

    fn layout(&self, tables: &Tables<'_>, name: &str) -> Result<Arc<Layout>, NotPerformed> {
        if let Some(layout) = self.layouts.borrow().get(name) {
            return layout.clone().ok_or(NotPerformed::NotSupported);
        }
        let table = tables.0.get_table_metadata(name).map_err(|_| NotPerformed::NotSupported)?;
        // A table that does not exist may be created.
        let table = table.ok_or(NotPerformed::NotSupported)?;
        let layout = Layout::of(&table).map(Arc::new);
        self.layouts.borrow_mut().insert(name.to_owned(), layout.clone());
        layout.ok_or(NotPerformed::NotSupported)
    }
}

/// Returns whether dynoxide has performed the request, or found nothing wrong but a false condition.
fn is_accepted(answer: &OperationAnswer) -> bool {
    let Err((_, body)) = answer else { return true };
    let Ok(body) = std::str::from_utf8(body) else { return false };
    body.contains("#ConditionalCheckFailedException")
        || (body.contains("#TransactionCanceledException") && !body.contains("\"ValidationError\""))
}
