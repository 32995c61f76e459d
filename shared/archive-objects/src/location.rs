//! Where an archive is.

use std::fmt;
use std::path::PathBuf;

/// A place for an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder that exists.
    Folder(PathBuf),
}

impl Location {
    /// Reads a location as users write it.
    ///
    /// # Errors
    ///
    /// A sentence that says what to give instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() || text.contains("://") {
            return Err("give the path of a folder, like /mnt/nas/minutehand".to_owned());
        }
        Ok(Self::Folder(text.into()))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_written_as_it_was_read() {
        for text in ["archive", "/mnt/nas/a b"] {
            assert_eq!(Location::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "s3://bucket", "gs://bucket"] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }
}
