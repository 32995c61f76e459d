//! The store and the queue as the services rely on them, behaviour by behaviour: `minutehand_testkit::conformance` on
//! SQLite in memory and in a file, and on PostgreSQL where it is installed.

#[cfg(test)]
mod back_end;

#[cfg(test)]
mod in_memory {
    minutehand_testkit::conformance!(crate::back_end::Sqlite::IN_MEMORY);
    minutehand_testkit::queue_conformance!(crate::back_end::Sqlite::IN_MEMORY);
}

#[cfg(test)]
mod in_a_file {
    minutehand_testkit::conformance!(crate::back_end::Sqlite::IN_A_FILE);
    minutehand_testkit::queue_conformance!(crate::back_end::Sqlite::IN_A_FILE);
}

#[cfg(test)]
mod on_postgres {
    use minutehand_testkit::conformance::{check_all, check_all_of_queues};
    use minutehand_testkit::postgres::PostgresPlaces;

    use crate::back_end::Postgres;

    /// In one test, because each one would start a server.
    #[test]
    fn the_store_does_what_every_store_does() {
        let Some(places) = PostgresPlaces::find() else { return };
        let postgres = Postgres { places, has_named_statements: true };
        assert_eq!(check_all(&postgres), [""; 0], "these do not hold");
    }

    #[test]
    fn the_queue_does_what_every_queue_does() {
        let Some(places) = PostgresPlaces::find() else { return };
        let postgres = Postgres { places, has_named_statements: false };
        assert_eq!(check_all_of_queues(&postgres), [""; 0], "these do not hold");
    }
}
