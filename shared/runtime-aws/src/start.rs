//! The start and the end of a Lambda function's process.

use std::process::ExitCode;

use chrono::{DateTime, Utc};
use minutehand_runtime::{LogFormat, chain, start_log};

use crate::{AwsSettings, ErrorType, Variables};

/// Reads the settings and runs a function until its process ends. The function gets those of AWS and its own.
pub fn serve<S, R, E>(
    read: impl FnOnce(&mut Variables) -> S,
    run: impl FnOnce(AwsSettings, S) -> R,
) -> ExitCode
where
    R: Future<Output = Result<(), E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match start(read) {
        Ok((aws, settings)) => block_on(run(aws, settings)),
        Err(code) => code,
    }
}

/// Reads the settings from the environment and starts the log.
///
/// # Errors
///
/// The exit code of the process, after all problems are logged.
fn start<S>(read: impl FnOnce(&mut Variables) -> S) -> Result<(AwsSettings, S), ExitCode> {
    let mut variables = Variables::from_environment();
    let level = variables.log_level();
    start_log(LogFormat::Json, level);
    variables
        .required("AWS_LAMBDA_RUNTIME_API", "Lambda sets it, so run this as a Lambda function");
    let started = (AwsSettings::read(&mut variables), read(&mut variables));
    for name in variables.unknown() {
        tracing::warn!(name, "unknown setting, ignored");
    }
    if variables.problems().is_empty() {
        return Ok(started);
    }
    let problems = variables.problems().join("; ");
    tracing::error!(error_type = %ErrorType::SettingsInvalid, problems, "invalid settings");
    Err(ExitCode::FAILURE)
}

/// Runs a function until its process ends. It mostly waits for I/O, so one thread is enough.
fn block_on<E>(run: impl Future<Output = Result<(), E>>) -> ExitCode
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let thread = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match thread {
        Ok(thread) => thread.block_on(run).map_err(Into::into),
        Err(error) => Err(error.into()),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            report(ErrorType::FunctionEnded, error.as_ref());
            ExitCode::FAILURE
        }
    }
}

/// The end of an invocation, given in milliseconds since 1970.
#[must_use]
pub fn deadline(ms: u64) -> DateTime<Utc> {
    let at = i64::try_from(ms).ok().and_then(DateTime::from_timestamp_millis);
    at.unwrap_or(DateTime::<Utc>::MAX_UTC)
}

/// Logs an error with its type.
pub fn report(error_type: ErrorType, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(%error_type, error = chain(error), "the function failed");
}
