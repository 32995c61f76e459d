//! Where objects are, behind [`Objects`](crate::Objects).

use std::fmt;
use std::io;

use async_trait::async_trait;

/// The name of the mark.
pub(crate) const MARK: &str = "minutehand.json";

/// A folder or a bucket.
#[async_trait]
pub(crate) trait Store: fmt::Debug + Send + Sync {
    /// The content of an object; `None` if it does not exist.
    async fn get(&self, name: &str) -> io::Result<Option<Vec<u8>>>;

    /// Writes an object, in the place of one with its name.
    async fn put(&self, name: &str, bytes: Vec<u8>) -> io::Result<()>;

    /// Creates an object, unless one of its name exists. Says whether it did. `key` tells concurrent
    /// creations from each other.
    async fn create(&self, name: &str, bytes: Vec<u8>, key: &str) -> io::Result<bool>;

    /// Removes an object, if it exists.
    async fn delete(&self, name: &str) -> io::Result<()>;

    /// Removes a folder that has become empty. A bucket has none.
    async fn delete_folder(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    /// The names of what is in a folder, in order.
    async fn names(&self, folder: &str) -> io::Result<Vec<String>>;
}
