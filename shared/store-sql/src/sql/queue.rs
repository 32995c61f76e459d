//! The queue.

statements! {
    SEND = "INSERT INTO messages (due_at, sent_at, body, stands_at) \
         VALUES (?1, ?2, ?3, CASE WHEN 1 = 0 /*pg OR ?4::bigint > ?1*/ THEN ?4 ELSE ?1 END)";

    /// Shows messages again whose hidden time has ended.
    SHOW_AGAIN = "UPDATE messages SET hidden_until = NULL, leased = 0 /*pg , stands_at = GREATEST(due_at, ?1)*/ WHERE id IN \
         (SELECT id FROM messages WHERE hidden_until <= ?1 /*pg FOR UPDATE SKIP LOCKED*/)";

    /// Shows messages again that the process may have received without an answer: they are hidden until an
    /// instant that such a call chose. These deliveries do not count.
    SHOW_LOST = "UPDATE messages SET hidden_until = NULL, leased = 0, receives = receives - leased \
         /*pg , stands_at = GREATEST(due_at, ?1)*/ \
         WHERE hidden_until = ?2 AND hidden_until > ?1 AND leased = 1 AND process = ?3";

    /// Delivers the messages that are due first, of those that stand in a range.
    RECEIVE = concat!("WITH first AS MATERIALIZED (SELECT id FROM messages WHERE hidden_until IS NULL \
         AND stands_at BETWEEN ?5 AND ?6 AND due_at <= ?1", alive!("?4"),
         "ORDER BY stands_at, due_at, id LIMIT ?2 /*pg FOR UPDATE SKIP LOCKED*/) \
         UPDATE messages SET hidden_until = ?3, leased = 1, receives = receives + 1, \
         delivery = delivery + 1, process = ?4 WHERE id IN (SELECT id FROM first) \
         RETURNING id, delivery, due_at, sent_at, receives, body, stands_at");

    NEXT_DUE = "SELECT stands_at FROM messages WHERE hidden_until IS NULL AND stands_at >= ?1 ORDER BY stands_at LIMIT 1";

    NEXT_SHOWN = "SELECT hidden_until FROM messages WHERE hidden_until IS NOT NULL \
         ORDER BY hidden_until LIMIT 1";

    FINISH = "DELETE FROM messages WHERE id = ?1 AND delivery = ?2";

    /// From then on it belongs to no process.
    PUT_BACK = "UPDATE messages SET hidden_until = ?3, leased = 0, process = 0 WHERE id = ?1 AND delivery = ?2";

    /// As putting it back, but the delivery does not count, and it stays with its process, which may take it
    /// again.
    SET_ASIDE = "UPDATE messages SET hidden_until = ?3, leased = 0, \
         receives = receives - leased WHERE id = ?1 AND delivery = ?2";

    TAKE_AGAIN = concat!("UPDATE messages SET hidden_until = ?3, leased = 1, receives = receives + 1, \
         delivery = delivery + 1, process = ?4 WHERE id = ?1 AND delivery = ?2", alive!("?4"),
         "RETURNING id, delivery, due_at, sent_at, receives, body");

    BURY = "INSERT INTO dead_letters (due_at, sent_at, receives, body, reason, buried_at) \
         SELECT due_at, sent_at, receives, body, ?3, ?4 FROM messages \
         WHERE id = ?1 AND delivery = ?2 /*pg FOR UPDATE*/";

    /// Makes every hidden message visible, and does not count the deliveries of a process that has ended:
    /// otherwise restarts alone could bury a message.
    VOID_DELIVERIES = "UPDATE messages SET hidden_until = NULL, leased = 0, \
         receives = receives - leased WHERE hidden_until IS NOT NULL";

    /// How many messages are due and visible, are visible and not due, and are hidden; and how many dead
    /// letters there are. What was hidden until now is visible, before anybody shows it again. And since
    /// when the first message is due that is visible, that a worker has set aside or put back, and the first attempt
    /// that waits under limits.
    STANDING = "SELECT \
         (SELECT count(*) FROM messages WHERE hidden_until IS NULL AND stands_at <= ?1) \
         + (SELECT count(*) FROM messages WHERE hidden_until <= ?2 AND due_at <= ?1), \
         (SELECT count(*) FROM messages WHERE hidden_until IS NULL AND stands_at > ?1) \
         + (SELECT count(*) FROM messages WHERE hidden_until <= ?2 AND due_at > ?1), \
         (SELECT count(*) FROM messages WHERE hidden_until > ?2), \
         (SELECT due_at FROM messages WHERE hidden_until IS NULL ORDER BY stands_at LIMIT 1), \
         (SELECT min(due_at) FROM messages WHERE hidden_until > ?2 AND leased = 0), \
         (SELECT min(COALESCE(attempt_due_at, nominal_at)) FROM attempts \
         WHERE ended_at IS NULL AND lease_until >= 0 AND claims = 0), \
         (SELECT count(*) FROM dead_letters)";

    DEAD_LETTERS = "SELECT id, sent_at, receives, reason, body FROM dead_letters \
         ORDER BY id DESC LIMIT ?1";

    /// The dead letters up to one of them, in slices.
    DEAD_IDS = "SELECT id FROM dead_letters WHERE id <= ?1 ORDER BY id LIMIT ?2";

    REDRIVE = "INSERT INTO messages (due_at, sent_at, body, stands_at) \
         SELECT due_at, sent_at, body, CASE WHEN ?2 > due_at THEN ?2 ELSE due_at END \
         FROM dead_letters WHERE id = ?1 /*pg FOR UPDATE*/";

    DELETE_LETTER = "DELETE FROM dead_letters WHERE id = ?1 RETURNING id";

    /// What was sent before an instant, in slices by id. What is due later was sent for later.
    FORGET_MESSAGES = "DELETE FROM messages WHERE id > ?2 AND id <= ?3 AND sent_at < ?1 AND due_at < ?1 RETURNING id";

    FORGET_LETTERS = "DELETE FROM dead_letters WHERE id > ?2 AND id <= ?3 AND sent_at < ?1 RETURNING id";

    /// The largest id of a message or a dead letter.
    LAST_ID = "SELECT COALESCE(max(id), 0) FROM (SELECT max(id) AS id FROM messages \
         UNION ALL SELECT max(id) FROM dead_letters) AS ids";
}
