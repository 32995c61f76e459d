//! The sweeper as a Lambda function.

use std::process::ExitCode;
use std::sync::Arc;

use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use minutehand_runtime::SystemClock;
use minutehand_runtime_aws::{AwsSettings, DynamoDb, ErrorType, serve};
use minutehand_sweeper::{Function, SweeperClients, SweeperSettings, Tick};
use serde_json::Value;

/// A request to AWS makes hundreds of small allocations, which this allocator does faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    serve(SweeperSettings::read, run)
}

async fn run(aws: AwsSettings, settings: SweeperSettings) -> Result<(), Error> {
    let config = aws.config()?;
    let clients = SweeperClients {
        dynamodb: DynamoDb::new(&aws, &config).await?,
        sqs: aws_sdk_sqs::Client::new(&config),
        eventbridge: aws_sdk_eventbridge::Client::new(&config),
    };
    let function = Arc::new(Function::new(&settings, clients, Arc::new(SystemClock)));
    let handle = service_fn(move |event: LambdaEvent<Value>| {
        let function = function.clone();
        async move {
            let failed = |error_message| {
                let error_type = ErrorType::SweepFailed.to_string();
                Diagnostic { error_type, error_message }
            };
            let tick = Tick::read(&event.payload).map_err(|error| failed(error.to_string()))?;
            let ended = function.sweep(tick).await;
            function.print_metrics();
            ended.map_err(|error| failed(error.to_string()))
        }
    });
    Runtime::new(handle).run().await
}
