//! Scripts: the only form in which the store asks its database for anything.
//!
//! A script is a few statements, each with what has to be true of its result. If one of them does not
//! hold, the database undoes the whole script and answers which one it was. So a change of several rows
//! that belong together is stored whole or not at all, whoever else changes them at the same time.

use std::fmt;

/// A value of a row, or a parameter of a statement.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Value {
    /// No value.
    #[default]
    Null,
    /// A number, a truth value, or an instant in ticks of 100 ns since 1970.
    Integer(i64),
    /// A text.
    Text(String),
    /// Bytes: an id, or something sealed or packed.
    Bytes(Vec<u8>),
}

/// Values are documents, messages and sealed secrets: their content stays out of logs.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Integer(number) => write!(f, "Integer({number})"),
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
        }
    }
}

/// A row of a result.
pub type Row = Vec<Value>;

/// The most rows that one statement may return. Larger lists come in pages.
pub(crate) const ROWS_MAX: usize = 20_000;

/// What has to be true of the result of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Anything is fine.
    Nothing,
    /// The statement changed a row.
    Change,
    /// The statement returned a row.
    Row,
    /// The statement returned no row.
    NoRow,
}

impl Need {
    /// Whether a result that changed and returned so many rows is what was needed.
    #[must_use]
    pub(crate) const fn is_met(self, changed: u64, returned: usize) -> bool {
        match self {
            Self::Nothing => true,
            Self::Change => changed > 0,
            Self::Row => returned > 0,
            Self::NoRow => returned == 0,
        }
    }
}

/// One statement of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The SQL text, with `?1`, `?2` … for its parameters.
    pub sql: &'static str,
    /// The parameters.
    pub parameters: Vec<Value>,
    /// What has to be true of its result.
    pub need: Need,
}

impl Statement {
    /// A statement of which nothing has to be true.
    #[must_use]
    pub const fn new(sql: &'static str, parameters: Vec<Value>) -> Self {
        Self { sql, parameters, need: Need::Nothing }
    }

    /// The same statement, with something that has to be true of its result.
    #[must_use]
    pub fn needs(self, need: Need) -> Self {
        Self { need, ..self }
    }
}

/// How urgent a script is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Urgency {
    /// It stands between an attempt and its start: claims, and what a start reads.
    Start,
    /// It records what has happened.
    Record,
    /// Everything else.
    Rest,
    /// It can wait: removal of what has expired, imports. It is given in short slices.
    Background,
}

/// Statements that are performed together or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// How urgent it is.
    pub urgency: Urgency,
    /// Scripts of different callers with the same urgency take turns: see [`Turn`].
    pub turn: Turn,
    /// The statements, in order.
    pub statements: Vec<Statement>,
    /// What to read if a need is not met, after the script is undone.
    pub otherwise: Option<Statement>,
    /// The jobs and collections of which a start reads something else after this script: see
    /// [`Changed`](crate::changed::Changed).
    pub changed: Vec<u32>,
    /// Whether another message may come first after it, for which a receiver waits.
    pub wakes: bool,
    /// Whether no other script of the same turn that is so, too, may run beside it: it reads rows that the
    /// other one adds.
    pub is_alone: bool,
}

impl Script {
    /// These statements, and nothing else.
    #[must_use]
    pub const fn new(urgency: Urgency, turn: Turn, statements: Vec<Statement>) -> Self {
        Self {
            urgency,
            turn,
            statements,
            otherwise: None,
            changed: Vec::new(),
            wakes: false,
            is_alone: false,
        }
    }

    /// The same script, which wakes a receiver.
    #[must_use]
    pub fn waking(self) -> Self {
        Self { wakes: true, ..self }
    }

    /// The same script, which reads something if a need is not met.
    #[must_use]
    pub(crate) fn or_read(self, sql: &'static str, parameters: Vec<Value>) -> Self {
        Self { otherwise: Some(Statement::new(sql, parameters)), ..self }
    }

    /// The same script, which runs beside no other one of its turn that is alone.
    #[must_use]
    pub(crate) fn alone(self) -> Self {
        Self { is_alone: true, ..self }
    }
}

/// Whose script it is, so that one caller with many scripts does not hold up others: a number that is the
/// same for all scripts of a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Turn(pub u64);

/// What a script came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptOutcome {
    /// Every need was met. The rows of each statement.
    Done(Vec<Vec<Row>>),
    /// A need was not met, and nothing was changed.
    Unmet {
        /// The number of the statement, from 0.
        statement: usize,
        /// The rows of [`Script::otherwise`].
        otherwise: Vec<Row>,
    },
}

impl ScriptOutcome {
    /// The first value that a statement returned; `None` if none did, or a need was not met.
    #[must_use]
    pub fn first(self) -> Option<Value> {
        let Self::Done(rows) = self else { return None };
        rows.into_iter().flatten().flatten().next()
    }
}
