//! What the tests of several formats share.

use chrono::{DateTime, Utc};

use crate::{Conversion, ConvertOptions, SourcePlace};

/// The instant of all conversions.
pub(crate) fn now() -> DateTime<Utc> {
    "2027-01-04T10:20:30Z".parse().unwrap()
}

pub(crate) fn options() -> ConvertOptions {
    ConvertOptions::at(now())
}

/// The problems as `place kind why`.
pub(crate) fn problems(report: &Conversion) -> Vec<String> {
    let shown = report.problems.iter().map(|problem| {
        let place = match &problem.place {
            SourcePlace::Line(line) => line.to_string(),
            SourcePlace::Path(path) => path.clone(),
            SourcePlace::File => String::new(),
        };
        format!("{place} {} {}", problem.kind.name(), problem.unsayable.why)
    });
    shown.collect()
}
