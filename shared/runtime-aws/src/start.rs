//! The start and the end of a Lambda function's process.

use std::process::ExitCode;

use minutehand_runtime::{LogFormat, chain, start_log};

use crate::{AwsSettings, ErrorType, Variables};

/// What a function gets when it starts.
pub struct Started<S> {
    /// The AWS region, credentials and endpoints.
    pub aws: AwsSettings,
    /// The function's own settings.
    pub settings: S,
}

/// Reads the settings and runs a function until its process ends.
pub fn serve<S, R, E>(
    read: impl FnOnce(&mut Variables) -> S,
    run: impl FnOnce(Started<S>) -> R,
) -> ExitCode
where
    R: Future<Output = Result<(), E>>,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match start(read) {
        Ok(started) => block_on(run(started)),
        Err(code) => code,
    }
}

/// Reads the settings from the environment and starts the log.
///
/// # Errors
///
/// The exit code of the process, after all problems are logged.
fn start<S>(read: impl FnOnce(&mut Variables) -> S) -> Result<Started<S>, ExitCode> {
    let mut variables = Variables::from_environment();
    let level = variables.log_level();
    start_log(LogFormat::Json, level);
    variables
        .required("AWS_LAMBDA_RUNTIME_API", "Lambda sets it, so run this as a Lambda function");
    let started =
        Started { aws: AwsSettings::read(&mut variables), settings: read(&mut variables) };
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

/// Logs an error with its type.
pub fn report(error_type: ErrorType, error: &(dyn std::error::Error + 'static)) {
    tracing::error!(%error_type, error = chain(error), "the function failed");
}
