//! The archiver as a Lambda function.

use std::process::ExitCode;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use minutehand_archiver::{ArchiverSettings, Event, Function};
use minutehand_runtime::SystemClock;
use minutehand_runtime_aws::{Started, dynamodb_client, report, serve};

/// Lines are many small allocations, which this allocator does faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    serve(ArchiverSettings::read, run)
}

async fn run(Started { aws, settings }: Started<ArchiverSettings>) -> Result<(), Error> {
    let ArchiverSettings { table, archive, backups_kept } = settings;
    let archive = archive.ok_or("there is no archive")?;
    let dynamodb = dynamodb_client(&aws.config()?);
    let function = Function::new(table, archive, &dynamodb, Arc::new(SystemClock));
    let function = Arc::new(function.with_backups(backups_kept));
    let handle = service_fn(move |LambdaEvent { payload, context }: LambdaEvent<Event>| {
        let function = function.clone();
        async move {
            let answer = function.handle(payload, deadline(context.deadline)).await;
            function.print_metrics();
            answer.map_err(|error| {
                report(error.error_type(), &error);
                Diagnostic {
                    error_type: error.error_type().to_string(),
                    error_message: error.to_string(),
                }
            })
        }
    });
    Runtime::new(handle).run().await
}

/// The end of an invocation, given in milliseconds since 1970.
fn deadline(ms: u64) -> DateTime<Utc> {
    let at = i64::try_from(ms).ok().and_then(DateTime::from_timestamp_millis);
    at.unwrap_or(DateTime::<Utc>::MAX_UTC)
}
