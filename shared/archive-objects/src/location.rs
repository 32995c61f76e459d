//! Where an archive is: a folder, or a bucket.

use std::fmt;
use std::path::PathBuf;

/// A place for an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A folder that exists.
    Folder(PathBuf),
    /// A bucket of S3, or of a service that speaks like it.
    Bucket {
        /// Its name.
        bucket: String,
        /// The folder of the archive in it, without slashes around it; it may be empty.
        prefix: String,
    },
}

impl Location {
    /// Reads a folder, or `s3://bucket/prefix`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to give instead.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("s3://") else {
            return if text.is_empty() || text.contains("://") {
                Err("give a folder, like /mnt/nas/minutehand, or s3://bucket/prefix".to_owned())
            } else {
                Ok(Self::Folder(text.into()))
            };
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_matches('/');
        let is_plain = |part: &str| {
            let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
            !part.is_empty() && part.chars().all(is_known) && !matches!(part, "." | "..")
        };
        if !is_plain(bucket) {
            return Err("give the name of a bucket, like s3://my-archive/minutehand".to_owned());
        }
        if !prefix.is_empty() && !prefix.split('/').all(is_plain) {
            return Err("a prefix has letters, digits, '-', '.', '_' and single slashes".to_owned());
        }
        Ok(Self::Bucket { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => write!(f, "{}", path.display()),
            Self::Bucket { bucket, prefix } if prefix.is_empty() => write!(f, "s3://{bucket}"),
            Self::Bucket { bucket, prefix } => write!(f, "s3://{bucket}/{prefix}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_written_as_it_was_read() {
        for text in ["archive", "/mnt/nas/a b", "s3://bucket", "s3://b-1.x/one/two"] {
            assert_eq!(Location::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Location::parse("s3://b//one/").unwrap(),
            Location::parse("s3://b/one").unwrap()
        );
        for text in ["", "gs://b", "s3://", "s3:///p", "s3://b/p//q", "s3://b/../q", "s3://b u/p"] {
            assert!(Location::parse(text).is_err(), "{text}");
        }
    }
}
