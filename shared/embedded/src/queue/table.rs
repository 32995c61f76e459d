//! The operations on messages, in SQL. The caller runs them in a transaction.
//!
//! This module has no clock: instants are parameters, in ticks.

use chrono::{DateTime, Utc};
use minutehand_domain::tick::from_ticks;
use minutehand_ports::ReceiptHandle;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};

use super::{BuriedMessage, QueueStats, RECEIVES_MAX};

const SEND: &str = "INSERT INTO message (due, sent, body) VALUES (?1, ?2, ?3)";
const PICK: &str = "SELECT id, delivery, due, sent, receives, body FROM message
    WHERE hidden_until IS NULL AND due <= ?1 ORDER BY due, id LIMIT ?2";
const LEASE: &str = "UPDATE message SET hidden_until = ?2, leased = 1, receives = receives + 1,
    delivery = delivery + 1 WHERE id = ?1";
const SHOW_AGAIN: &str =
    "UPDATE message SET hidden_until = NULL, leased = 0 WHERE hidden_until <= ?1";
const NEXT_DUE: &str = "SELECT due FROM message WHERE hidden_until IS NULL ORDER BY due LIMIT 1";
const NEXT_HIDDEN: &str = "SELECT hidden_until FROM message WHERE hidden_until IS NOT NULL
    ORDER BY hidden_until LIMIT 1";
const FINISH: &str = "DELETE FROM message WHERE id = ?1 AND delivery = ?2";
const PUT_BACK: &str =
    "UPDATE message SET hidden_until = ?3, leased = 0 WHERE id = ?1 AND delivery = ?2";
const SET_ASIDE: &str = "UPDATE message SET hidden_until = ?3, leased = 0,
    receives = receives - leased WHERE id = ?1 AND delivery = ?2";
const TAKE_AGAIN: &str = "UPDATE message SET hidden_until = ?3, leased = 1,
    receives = receives + 1, delivery = delivery + 1 WHERE id = ?1 AND delivery = ?2
    RETURNING id, delivery, due, sent, receives, body";
const UNDO_DELIVERY: &str = "UPDATE message SET hidden_until = NULL, leased = 0,
    receives = receives - 1 WHERE id = ?1 AND delivery = ?2 AND leased = 1";
const BURY: &str = "INSERT INTO dead_letter (due, sent, receives, body, reason, buried)
    SELECT due, sent, receives, body, ?3, ?4 FROM message WHERE id = ?1 AND delivery = ?2";
const VOID_LEASES: &str = "UPDATE message SET hidden_until = NULL, leased = 0,
    receives = receives - leased WHERE hidden_until IS NOT NULL";
const N_VISIBLE: &str = "SELECT count(*) FROM message WHERE hidden_until IS NULL AND due <= ?1";
const N_DELAYED: &str = "SELECT count(*) FROM message WHERE hidden_until IS NULL AND due > ?1";
const N_HIDDEN: &str = "SELECT count(*) FROM message WHERE hidden_until IS NOT NULL";
const N_DEAD: &str = "SELECT count(*) FROM dead_letter";
const DEAD_LETTERS: &str = "SELECT number, due, sent, receives, body, reason, buried
    FROM dead_letter ORDER BY number DESC LIMIT ?1";

const REDRIVE: &str = "INSERT INTO message (due, sent, body)
    SELECT due, sent, body FROM dead_letter WHERE number = ?1";
const REDRIVE_ALL: &str =
    "INSERT INTO message (due, sent, body) SELECT due, sent, body FROM dead_letter";
const DELETE_LETTER: &str = "DELETE FROM dead_letter WHERE number = ?1";
const DELETE_LETTERS: &str = "DELETE FROM dead_letter";
// Once an hour, so no index is worth its writes. What is due later was sent for later.
const FORGET_MESSAGES: &str = "DELETE FROM message WHERE sent < ?1 AND due < ?1";
const FORGET_LETTERS: &str = "DELETE FROM dead_letter WHERE sent < ?1";

/// A message as it is stored when it is sent.
#[derive(Debug)]
pub(super) struct StoredMessage {
    pub(super) due: i64,
    pub(super) sent: i64,
    pub(super) body: String,
}

/// Which messages a receiver wants.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveQuery {
    pub(super) max: usize,
    /// Only messages that are due by then can be delivered.
    pub(super) due_until: i64,
    pub(super) now: i64,
    pub(super) work_now: i64,
    /// Until when delivered messages are hidden.
    pub(super) hide_until: i64,
}

/// What a receiver gets.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub(super) delivered: Vec<Delivered>,
    /// When to try again, if no message was delivered.
    pub(super) next: NextWake,
}

/// A message as it is delivered.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) receipt: ReceiptHandle,
    pub(super) due_at: DateTime<Utc>,
    pub(super) sent_at: DateTime<Utc>,
    pub(super) receive_count: u32,
    pub(super) body: String,
}

/// When the next message of a queue becomes deliverable.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct NextWake {
    /// The earliest due time, in schedule time.
    pub(super) due_at: Option<DateTime<Utc>>,
    /// The earliest end of a hidden time, in work time.
    pub(super) hidden_until: Option<DateTime<Utc>>,
}

pub(super) fn send(connection: &Connection, messages: &[StoredMessage]) -> rusqlite::Result<()> {
    let mut send = connection.prepare_cached(SEND)?;
    for StoredMessage { due, sent, body } in messages {
        send.execute(params![due, sent, body])?;
    }
    Ok(())
}

pub(super) fn receive(connection: &Connection, query: &ReceiveQuery) -> rusqlite::Result<Received> {
    show_again(connection, query.work_now)?;
    let mut pick = connection.prepare_cached(PICK)?;
    let picked = pick.query_map(params![query.due_until, count(query.max)], delivered)?;
    let picked: Vec<_> = picked.collect::<Result<_, _>>()?;
    let mut lease = connection.prepare_cached(LEASE)?;
    let mut received = Received::default();
    for mut message in picked {
        if message.receive_count < RECEIVES_MAX {
            lease.execute(params![message.receipt.id, query.hide_until])?;
            message.receipt.delivery += 1;
            message.receive_count += 1;
            received.delivered.push(message);
        } else {
            let reason = format!("received {RECEIVES_MAX} times and never finished");
            bury(connection, &[message.receipt], &reason, query.now)?;
        }
    }
    if received.delivered.is_empty() {
        let first = |sql| first(connection, sql);
        received.next = NextWake { due_at: first(NEXT_DUE)?, hidden_until: first(NEXT_HIDDEN)? };
    }
    Ok(received)
}

pub(super) fn finish(connection: &Connection, receipts: &[ReceiptHandle]) -> rusqlite::Result<()> {
    let mut finish = connection.prepare_cached(FINISH)?;
    for ReceiptHandle { id, delivery } in receipts {
        finish.execute(params![id, delivery])?;
    }
    Ok(())
}

/// Hides messages until those instants, or makes them visible at once.
pub(super) fn put_back(
    connection: &Connection,
    receipts: &[(ReceiptHandle, Option<i64>)],
) -> rusqlite::Result<()> {
    let mut put_back = connection.prepare_cached(PUT_BACK)?;
    for (ReceiptHandle { id, delivery }, hidden_until) in receipts {
        put_back.execute(params![id, delivery, hidden_until])?;
    }
    Ok(())
}

/// Hides messages until those instants, or makes them visible at once, and does not count their last
/// delivery.
pub(super) fn set_aside(
    connection: &Connection,
    receipts: &[(ReceiptHandle, Option<i64>)],
) -> rusqlite::Result<()> {
    let mut set_aside = connection.prepare_cached(SET_ASIDE)?;
    for (ReceiptHandle { id, delivery }, hidden_until) in receipts {
        set_aside.execute(params![id, delivery, hidden_until])?;
    }
    Ok(())
}

/// Delivers messages that were set aside, and have not been delivered since.
pub(super) fn take_again(
    connection: &Connection,
    receipts: &[ReceiptHandle],
    hide_until: i64,
) -> rusqlite::Result<Vec<Option<Delivered>>> {
    let mut take_again = connection.prepare_cached(TAKE_AGAIN)?;
    let mut taken = Vec::with_capacity(receipts.len());
    for ReceiptHandle { id, delivery } in receipts {
        let mut rows = take_again.query_map(params![id, delivery, hide_until], delivered)?;
        taken.push(rows.next().transpose()?);
    }
    Ok(taken)
}

/// Undoes deliveries that reached no receiver.
pub(super) fn undo_deliveries(
    connection: &Connection,
    receipts: &[ReceiptHandle],
) -> rusqlite::Result<()> {
    let mut undo_deliveries = connection.prepare_cached(UNDO_DELIVERY)?;
    for ReceiptHandle { id, delivery } in receipts {
        undo_deliveries.execute(params![id, delivery])?;
    }
    Ok(())
}

pub(super) fn bury(
    connection: &Connection,
    receipts: &[ReceiptHandle],
    reason: &str,
    now: i64,
) -> rusqlite::Result<()> {
    let mut bury = connection.prepare_cached(BURY)?;
    for ReceiptHandle { id, delivery } in receipts {
        bury.execute(params![id, delivery, reason, now])?;
    }
    finish(connection, receipts)
}

/// Makes every hidden message visible, because the process that received it has ended. Deliveries
/// that ended with the process are not counted; otherwise restarts alone could bury a message.
pub(super) fn void_leases(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(VOID_LEASES, []).map(drop)
}

pub(super) fn stats(
    connection: &Connection,
    now: i64,
    work_now: i64,
) -> rusqlite::Result<QueueStats> {
    show_again(connection, work_now)?;
    let due = |sql| connection.prepare_cached(sql)?.query_row([now], |row| row.get(0));
    let all = |sql| connection.prepare_cached(sql)?.query_row([], |row| row.get(0));
    Ok(QueueStats {
        visible: due(N_VISIBLE)?,
        delayed: due(N_DELAYED)?,
        hidden: all(N_HIDDEN)?,
        oldest_due_at: first(connection, NEXT_DUE)?,
        dead_letters: all(N_DEAD)?,
    })
}

pub(super) fn dead_letters(
    connection: &Connection,
    limit: usize,
) -> rusqlite::Result<Vec<BuriedMessage>> {
    let mut dead_letters = connection.prepare_cached(DEAD_LETTERS)?;
    let rows = dead_letters.query_map([count(limit)], |row| {
        Ok(BuriedMessage {
            number: row.get(0)?,
            due_at: instant(row.get(1)?),
            sent_at: instant(row.get(2)?),
            receive_count: row.get(3)?,
            body: text(row.get_ref(4)?),
            reason: row.get(5)?,
            buried_at: instant(row.get(6)?),
        })
    })?;
    rows.collect()
}

/// Deletes messages and dead letters that were sent before an instant. Answers how many.
pub(super) fn forget(connection: &Connection, before: i64) -> rusqlite::Result<usize> {
    let messages = connection.prepare_cached(FORGET_MESSAGES)?.execute([before])?;
    Ok(messages + connection.prepare_cached(FORGET_LETTERS)?.execute([before])?)
}

/// Deletes dead letters, all or those with these numbers, or makes them messages again, which are as old
/// as they were. Answers which of the numbers there were, and how many were deleted.
pub(super) fn take_dead_letters(
    connection: &Connection,
    numbers: Option<&[i64]>,
    is_redrive: bool,
) -> rusqlite::Result<(Vec<i64>, usize)> {
    let Some(numbers) = numbers else {
        if is_redrive {
            connection.prepare_cached(REDRIVE_ALL)?.execute([])?;
        }
        let deleted = connection.prepare_cached(DELETE_LETTERS)?.execute([])?;
        return Ok((Vec::new(), deleted));
    };
    let mut found = Vec::new();
    for number in numbers {
        if is_redrive {
            connection.prepare_cached(REDRIVE)?.execute([*number])?;
        }
        if connection.prepare_cached(DELETE_LETTER)?.execute([number])? > 0 {
            found.push(*number);
        }
    }
    let deleted = found.len();
    Ok((found, deleted))
}

/// Makes messages visible whose hidden time has ended.
fn show_again(connection: &Connection, work_now: i64) -> rusqlite::Result<()> {
    connection.prepare_cached(SHOW_AGAIN)?.execute([work_now]).map(drop)
}

fn first(connection: &Connection, sql: &str) -> rusqlite::Result<Option<DateTime<Utc>>> {
    let mut first = connection.prepare_cached(sql)?;
    let mut ticks = first.query_map([], |row| row.get(0))?;
    ticks.next().transpose().map(|ticks| ticks.map(instant))
}

fn delivered(row: &Row<'_>) -> rusqlite::Result<Delivered> {
    Ok(Delivered {
        receipt: ReceiptHandle { id: row.get(0)?, delivery: row.get(1)? },
        due_at: instant(row.get(2)?),
        sent_at: instant(row.get(3)?),
        receive_count: row.get(4)?,
        body: text(row.get_ref(5)?),
    })
}

/// A damaged text is passed on, and its reader reports it. An error here would block the delivery of
/// every message behind it.
fn text(value: ValueRef<'_>) -> String {
    String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned()
}

/// An instant beyond the calendar becomes the last possible one.
fn instant(ticks: i64) -> DateTime<Utc> {
    from_ticks(ticks).unwrap_or(DateTime::<Utc>::MAX_UTC)
}

fn count(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::queue::schema;

    #[test]
    fn every_statement_on_messages_uses_an_index() {
        let mut connection = Connection::open_in_memory().unwrap();
        schema::create(&mut connection).unwrap();
        for sql in [
            PICK,
            LEASE,
            SHOW_AGAIN,
            NEXT_DUE,
            NEXT_HIDDEN,
            FINISH,
            PUT_BACK,
            SET_ASIDE,
            TAKE_AGAIN,
            UNDO_DELIVERY,
            BURY,
            VOID_LEASES,
            N_VISIBLE,
            N_DELAYED,
            N_HIDDEN,
            DEAD_LETTERS,
            REDRIVE,
            REDRIVE_ALL,
            DELETE_LETTER,
        ] {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            // The plan does not depend on the parameters.
            for n in 1..=explain.parameter_count() {
                explain.raw_bind_parameter(n, 1).unwrap();
            }
            let mut steps = explain.raw_query();
            while let Some(step) = steps.next().unwrap() {
                let step: String = step.get(3).unwrap();
                let is_by_index = step.contains("USING") || step == "SCAN dead_letter";
                assert!(is_by_index && !step.contains("TEMP B-TREE"), "{sql}: {step}");
            }
        }
    }
}
