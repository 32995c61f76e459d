//! What to do about an error of PostgreSQL, in one sentence for the person who starts a process.

use std::error::Error as _;
use std::io;

use super::error::PgError;

const NOT_REACHED: &str = "check that PostgreSQL runs there, that the host and the port of the address are right, and that no \
     firewall stands between";
const NOT_POSTGRES: &str =
    "check that PostgreSQL, and no other program, listens on this host and port";
const LOGIN: &str = "check user and password (in the address, PGPASSWORD or ~/.pgpass), and the server's pg_hba.conf";
const NO_DATABASE: &str = "create it with `createdb`, or correct its name in the address";
pub(super) const FULL: &str = "raise max_connections of the server, run fewer processes (each takes up to 16 connections), or put \
     PgBouncer in front";
const STARTING: &str = "wait until the server has started, and try again";
const NO_RIGHT: &str = "give the role the right (GRANT CREATE ON SCHEMA public TO role), or run `minutehand database migrate` \
     with a role that has it, and serve with --no-migrate";
pub(super) const READ_ONLY: &str = "give the address of the primary, or of all servers with ?target_session_attrs=read-write; on a \
     primary, set default_transaction_read_only to off";
const FOREIGN: &str = "the database has tables of another program under the same names: give Minutehand a database of its own";
pub(super) const NEWER: &str = "install the newer version, as the other processes have it";
const DISK: &str = "make room on the server's disk";
const TLS: &str = "check sslmode and sslrootcert in the address";

impl PgError {
    /// What to do about it; `None` if the error itself says so, or only the server's log can tell.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NoAnswer(_) => Some(NOT_REACHED),
            Self::Busy(_) => Some(FULL),
            Self::Newer => Some(NEWER),
            Self::Unsent(error) => error.remedy(),
            Self::Connect(error) | Self::Postgres(error) => match error.code() {
                Some(state) => {
                    let says = error.as_db_error().map(tokio_postgres::error::DbError::message);
                    of_state(state.code(), says.unwrap_or_default())
                }
                None => of_way(matches!(self, Self::Connect(_)), error),
            },
            _ => None,
        }
    }
}

/// What to do about an error that PostgreSQL, or a pooler in front of it, answers.
fn of_state(state: &str, says: &str) -> Option<&'static str> {
    Some(match state {
        "28P01" | "28000" => LOGIN,
        "3D000" => NO_DATABASE,
        "53300" => FULL,
        "53100" => DISK,
        "57P03" => STARTING,
        "42501" => NO_RIGHT,
        "25006" => READ_ONLY,
        "0A000" if says.contains("recovery") => READ_ONLY,
        // PgBouncer has one state for all of its own errors.
        "08P01" if says.contains("no such database") => NO_DATABASE,
        "08P01" if says.contains("authentication") || says.contains("no such user") => LOGIN,
        "08P01" if says.contains("no more connections") => FULL,
        "08P01" | "58000" if says.contains("server") => NOT_REACHED,
        // A table, a column or a type that is there and should not be, or is another one.
        "42P07" | "42710" | "42P01" | "42703" | "42804" | "42883" => FOREIGN,
        _ => return None,
    })
}

/// What to do if the way to the server is wrong. A program that takes the connection, and then does not speak
/// as PostgreSQL does, is another one.
fn of_way(is_connecting: bool, error: &tokio_postgres::Error) -> Option<&'static str> {
    let text = error.to_string();
    let is_io = matches!(error.source(), Some(source) if source.is::<io::Error>());
    let is = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if is_io {
        let is_other = is_connecting && is(&["communicating"]);
        return Some(if is_other { NOT_POSTGRES } else { NOT_REACHED });
    }
    [
        (&["TLS"][..], TLS),
        (&["configuration", "authentication"], LOGIN),
        (&["pars", "unexpected", "closed"], NOT_POSTGRES),
    ]
    .into_iter()
    .find_map(|(parts, remedy)| is(parts).then_some(remedy))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_error_that_a_start_can_have_has_a_remedy() {
        for (state, remedy) in [
            ("28P01", LOGIN),
            ("3D000", NO_DATABASE),
            ("53300", FULL),
            ("57P03", STARTING),
            ("42501", NO_RIGHT),
            ("25006", READ_ONLY),
            ("42P07", FOREIGN),
            ("42703", FOREIGN),
        ] {
            assert_eq!(of_state(state, ""), Some(remedy), "{state}");
        }
        for (state, says, remedy) in [
            ("0A000", "cannot set transaction read-write mode during recovery", Some(READ_ONLY)),
            ("0A000", "it has no such feature", None),
            ("08P01", "no such database: x", Some(NO_DATABASE)),
            ("08P01", "server login failed", Some(NOT_REACHED)),
            ("XX000", "only the server's log tells", None),
        ] {
            assert_eq!(of_state(state, says), remedy, "{state} {says}");
        }
        let no_answer = PgError::NoAnswer(Duration::from_secs(5));
        assert_eq!(no_answer.remedy(), Some(NOT_REACHED));
        assert_eq!(PgError::Unsent(Box::new(no_answer)).remedy(), Some(NOT_REACHED));
        assert_eq!(PgError::Newer.remedy(), Some(NEWER));
        assert_eq!(PgError::Closed.remedy(), None);
    }
}
