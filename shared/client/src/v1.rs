//! The calls of `/minutehand/v1`.

use crate::answer::Answer;
use crate::error::Error;
use crate::path::JobPath;
use crate::transport::Client;
use crate::types::Description;

impl Client {
    /// Describes a job: its definition, when it fires in words, and why it does not.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn describe(&self, job: &JobPath) -> Result<Answer<Description>, Error> {
        self.get(job.v1("")).await
    }
}
