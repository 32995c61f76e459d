//! Deletes expired history, jobs and messages, at the start and once an hour.
//!
//! The API never returns expired entries, so this only frees disk space. DynamoDB on AWS expires them
//! by itself. With an archive, what it is to have is written first, and stays until it is; and so is the
//! backup of the day.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::history_days::HistoryDays;
use minutehand_ports::{Clock, ErrorType};
use minutehand_runtime::chain;
use minutehand_store_sql::{SqlQueue, SqlStore};

use crate::archive::Archiver;

/// The time between two runs.
const EXPIRE_EVERY: Duration = Duration::from_hours(1);

/// Deletes what has expired again and again.
pub(super) async fn expire(
    jobs: Arc<SqlStore>,
    (queue, history): (SqlQueue, HistoryDays),
    mut archiver: Option<Archiver>,
    clock: Arc<dyn Clock>,
) {
    loop {
        if let Some(archiver) = &mut archiver {
            if let Err(error) = archiver.catch_up(&jobs, clock.now()).await {
                tracing::error!(
                    error_type = %ErrorType::ArchiveFailed,
                    error = chain(&*error),
                    "cannot archive: history is kept until it is archived"
                );
            }
            if let Err(error) = archiver.back_up(&*jobs, clock.now()).await {
                tracing::error!(
                    error_type = %ErrorType::BackupFailed,
                    error = chain(&*error),
                    "cannot write the backup of the day: it is tried again in an hour"
                );
            }
            match archiver.remove_bodies(clock.now()).await {
                Ok(0) => {}
                Ok(bodies) => tracing::info!(bodies, "removed old bodies of failures"),
                Err(error) => {
                    let error = chain(&*error);
                    tracing::error!(error, "cannot remove old bodies of failures");
                }
            }
        }
        let archived_until = archiver.as_ref().map(Archiver::archived_until);
        match jobs.remove_expired(clock.now(), clock.work_now(), archived_until).await {
            Ok(0) => tracing::debug!("nothing has expired"),
            Ok(items) => tracing::info!(items, "removed what has expired"),
            Err(error) => {
                tracing::error!(error = chain(&error), "cannot remove what has expired");
            }
        }
        match queue.forget(clock.now() - history.messages_kept_for()).await {
            Ok(0) => {}
            Ok(messages) => tracing::warn!(
                messages,
                %history,
                "deleted messages and dead letters: history of their time expires"
            ),
            Err(error) => {
                tracing::error!(error = chain(&error), "cannot delete old messages");
            }
        }
        if let Err(error) = jobs.database().give_back_space().await {
            tracing::error!(error = chain(&error), "cannot give back the space of what is removed");
        }
        clock.wait(EXPIRE_EVERY).await;
    }
}
