//! The start of a function, and its end.

use std::process::ExitCode;

use runtime::{LogFormat, chain, start_log};

use crate::{AwsSettings, ErrorType, Variables};

/// What every function starts with, beside settings of its own.
pub struct Started<S> {
    /// Where AWS is.
    pub aws: AwsSettings,
    /// What the function alone reads.
    pub settings: S,
}

/// Starts a function, and runs it until its process ends.
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

/// Reads settings from the environment of this process, and starts its log.
///
/// # Errors
///
/// The code with which the process ends, once everything that is wrong is in the log.
fn start<S>(read: impl FnOnce(&mut Variables) -> S) -> Result<Started<S>, ExitCode> {
    let mut variables = Variables::of_process();
    let level = variables.log_level();
    start_log(LogFormat::Json, level);
    variables.required("AWS_LAMBDA_RUNTIME_API", "set by Lambda, where this runs as a function");
    let started =
        Started { aws: AwsSettings::read(&mut variables), settings: read(&mut variables) };
    for name in variables.unknown() {
        tracing::warn!(name, "a variable looks like a setting, and is none of this function");
    }
    if variables.problems().is_empty() {
        return Ok(started);
    }
    let problems = variables.problems().join("; ");
    tracing::error!(error_type = %ErrorType::SettingsInvalid, problems, "settings are wrong");
    Err(ExitCode::FAILURE)
}

/// Runs a function until its process ends. One thread is enough: what it does is waiting.
fn block_on<E>(run: impl Future<Output = Result<(), E>>) -> ExitCode
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let system = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match system {
        Ok(system) => system.block_on(run).map_err(Into::into),
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
