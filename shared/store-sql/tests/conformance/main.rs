//! The store and the queue as the services rely on them, behaviour by behaviour: `minutehand_testkit::conformance` on
//! SQLite in memory and in a file.

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
