//! The archiver as a Lambda function.

use std::process::ExitCode;
use std::sync::Arc;

use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use minutehand_archiver::{ArchiverSettings, Event, Function};
use minutehand_runtime::{SystemClock, chain};
use minutehand_runtime_aws::{AwsSettings, deadline, dynamodb_client, report, serve};
use minutehand_sealer_kms::KmsSealer;

/// Lines are many small allocations, which this allocator does faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    serve(ArchiverSettings::read, run)
}

async fn run(aws: AwsSettings, settings: ArchiverSettings) -> Result<(), Error> {
    let ArchiverSettings { table, archive, backups_kept, moving_key_id } = settings;
    let archive = archive.ok_or("there is no archive")?;
    let config = aws.config()?;
    let dynamodb = dynamodb_client(&config);
    let kms = |key| Arc::new(KmsSealer::new(aws_sdk_kms::Client::new(&config), key));
    let function = Function::new(table, archive, &dynamodb, Arc::new(SystemClock));
    let function = function.with_backups(backups_kept).with_moving(moving_key_id.map(kms));
    let function = Arc::new(function);
    let handle = service_fn(move |LambdaEvent { payload, context }: LambdaEvent<Event>| {
        let function = function.clone();
        async move {
            let answer = function.handle(payload, deadline(context.deadline)).await;
            function.print_metrics();
            answer.map_err(|error| {
                report(error.error_type(), &error);
                Diagnostic {
                    error_type: error.error_type().to_string(),
                    error_message: chain(&error),
                }
            })
        }
    });
    Runtime::new(handle).run().await
}
