//! Values of the domain as values of rows, and back.

use chrono::{DateTime, SubsecRound, Utc};
use minutehand_domain::ids::{hex, unhex};
use minutehand_domain::name::PathSegment;
use minutehand_domain::tick::{from_ticks, ticks};
use minutehand_ports::StoreError;
use minutehand_ports::store::ResourceGroup;

use crate::script::{Row, Value};

/// Makes the parameters of a statement. They may follow others: `params![..others, one, two]`.
macro_rules! params {
    (..$others:expr, $($value:expr),+ $(,)?) => {{
        let mut parameters: Vec<crate::script::Value> = $others;
        parameters.extend(params![$($value),+]);
        parameters
    }};
    ($($value:expr),* $(,)?) => { vec![$($crate::script::Value::from($value)),*] };
}
pub(crate) use params;

/// The bytes of an id.
const ID_BYTES: usize = 16;
/// The digits of an id.
const ID_DIGITS: usize = 2 * ID_BYTES;

/// An id. Ours have 32 hexadecimal digits and become 16 bytes. Anything else that was sent as an id is
/// kept as it is, behind so many zeros that it is not an id of ours.
pub(crate) fn id(text: &str) -> Value {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_ours = text.len() == ID_DIGITS && text.bytes().all(is_digit);
    let bytes = if is_ours { unhex(text) } else { None };
    Value::Bytes(bytes.unwrap_or_else(|| [&[0; ID_BYTES + 1], text.as_bytes()].concat()))
}

/// Reads the bytes of an id.
pub(crate) fn read_id(bytes: &[u8]) -> Option<String> {
    if bytes.len() == ID_BYTES {
        return Some(hex(bytes));
    }
    String::from_utf8(bytes.strip_prefix(&[0; ID_BYTES + 1])?.to_vec()).ok()
}

/// The second of an instant: what expires does so at a whole second.
pub(crate) fn second(at: DateTime<Utc>) -> DateTime<Utc> {
    at.trunc_subsecs(0)
}

impl From<DateTime<Utc>> for Value {
    fn from(at: DateTime<Utc>) -> Self {
        Self::Integer(ticks(at))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

/// The bits of the number: they are only added to and compared for equality.
impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Integer(number.cast_signed())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Integer(flag.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// What can be read from a value.
pub(crate) trait Read: Sized {
    /// Reads a value; `None` if it is another kind of value.
    fn read(value: Value) -> Option<Self>;
}

impl Read for i64 {
    fn read(value: Value) -> Option<Self> {
        if let Value::Integer(number) = value { Some(number) } else { None }
    }
}

impl Read for u64 {
    fn read(value: Value) -> Option<Self> {
        i64::read(value).map(i64::cast_unsigned)
    }
}

impl Read for u32 {
    fn read(value: Value) -> Option<Self> {
        i64::read(value)?.try_into().ok()
    }
}

impl Read for bool {
    fn read(value: Value) -> Option<Self> {
        i64::read(value).map(|number| number != 0)
    }
}

impl Read for DateTime<Utc> {
    fn read(value: Value) -> Option<Self> {
        from_ticks(i64::read(value)?)
    }
}

impl Read for String {
    fn read(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Some(text) } else { None }
    }
}

impl Read for Vec<u8> {
    fn read(value: Value) -> Option<Self> {
        if let Value::Bytes(bytes) = value { Some(bytes) } else { None }
    }
}

impl<T: Read> Read for Option<T> {
    fn read(value: Value) -> Option<Self> {
        if value == Value::Null { Some(None) } else { T::read(value).map(Some) }
    }
}

/// A row that is read column by column, in the order of the statement.
#[derive(Debug)]
pub(crate) struct Columns {
    table: &'static str,
    key: String,
    values: std::vec::IntoIter<Value>,
    read: usize,
}

impl Columns {
    /// A row of a table. Its first column tells it from others in errors.
    pub(crate) fn new(table: &'static str, row: Row) -> Self {
        let key = match row.first() {
            Some(Value::Bytes(bytes)) => read_id(bytes).unwrap_or_else(|| hex(bytes)),
            Some(Value::Text(text)) => text.clone(),
            Some(Value::Integer(number)) => number.to_string(),
            Some(Value::Null) | None => String::new(),
        };
        Self { table, key, values: row.into_iter(), read: 0 }
    }

    /// What follows the id in a row that begins with one.
    pub(crate) fn after_id(table: &'static str, row: Row) -> Result<Self, StoreError> {
        let mut row = Self::new(table, row);
        row.id().map(|_| row)
    }

    /// The value of the next column.
    pub(crate) fn next<T: Read>(&mut self) -> Result<T, StoreError> {
        self.read += 1;
        let read = self.values.next().and_then(T::read);
        read.ok_or_else(|| self.corrupt(format_args!("column {} is not what it was", self.read)))
    }

    /// The id in the next column.
    pub(crate) fn id(&mut self) -> Result<String, StoreError> {
        let bytes: Vec<u8> = self.next()?;
        read_id(&bytes).ok_or_else(|| self.corrupt("an id is damaged"))
    }

    /// The text of the next column, read as something else.
    pub(crate) fn named<T>(
        &mut self,
        what: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, StoreError> {
        let text: String = self.next()?;
        read(&text).ok_or_else(|| self.corrupt(format_args!("its {what} is none")))
    }

    /// The names of a subscription and a resource group in the next two columns.
    pub(crate) fn resource_group(&mut self) -> Result<ResourceGroup, StoreError> {
        let segment = |text: &str| PathSegment::new(text).ok();
        let subscription = self.named("subscription", segment)?;
        Ok(ResourceGroup { subscription, group: self.named("resource group", segment)? })
    }

    /// An error that names the row.
    pub(crate) fn corrupt(&self, what: impl std::fmt::Display) -> StoreError {
        StoreError::Corrupt { key: format!("{} {}", self.table, self.key), what: what.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_form_read_back_and_no_two_are_the_same() {
        let ours = "00112233445566778899aabbccddeeff";
        let others = ["", "a", "uid-Sub-ä", &"0".repeat(31), &ours.to_uppercase(), &"x".repeat(32)];
        let mut all: Vec<Vec<u8>> = Vec::new();
        for text in others.into_iter().chain([ours, &"0".repeat(32)]) {
            let Value::Bytes(bytes) = id(text) else { panic!("{text}") };
            assert_eq!(read_id(&bytes).as_deref(), Some(text));
            assert_eq!(bytes.len() == ID_BYTES, text == ours || text == "0".repeat(32));
            assert!(!all.contains(&bytes));
            all.push(bytes);
        }
        for damaged in [&[0; 15][..], &[1; 17], &[0; 16 + 1 + 1].map(|_| 0xff)] {
            assert_eq!(read_id(damaged), None);
        }
    }

    #[test]
    fn a_column_that_is_another_kind_is_an_error_that_names_the_row() {
        let mut row = Columns::new("jobs", params![id("job-1"), "text", 7_i64]);
        assert_eq!(row.id().unwrap(), "job-1");
        let error = row.next::<u32>().unwrap_err();
        assert_eq!(error.to_string(), "item jobs job-1 is corrupt: column 2 is not what it was");
        assert_eq!(row.next::<Option<u32>>().unwrap(), Some(7));
        assert!(row.next::<Option<u32>>().is_err(), "there is no column left");
    }
}
