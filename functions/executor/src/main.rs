//! The executor as a Lambda function.

use std::convert::Infallible;
use std::process::ExitCode;
use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use minutehand_actions::Aws;
use minutehand_executor::{ExecutorClients, ExecutorSettings, Function};
use minutehand_queue_sqs::Batch;
use minutehand_runtime::SystemClock;
use minutehand_runtime_aws::{AwsSettings, DynamoDb, deadline, serve};

/// A request to AWS makes hundreds of small allocations, which this allocator does faster.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    serve(ExecutorSettings::read, run)
}

async fn run(aws: AwsSettings, settings: ExecutorSettings) -> Result<(), Error> {
    let config = aws.config()?;
    let clients = ExecutorClients {
        dynamodb: DynamoDb::new(&aws, &config).await?,
        sqs: aws_sdk_sqs::Client::new(&config),
        kms: aws_sdk_kms::Client::new(&config),
        eventbridge: aws_sdk_eventbridge::Client::new(&config),
    };
    let aws = Aws::new(config.endpoint_url(), aws.region.clone(), aws.credentials())?;
    let function = Function::new(&settings, aws, clients, Arc::new(SystemClock))?;
    let function = Arc::new(function);
    let handle = service_fn(move |LambdaEvent { payload, context }: LambdaEvent<Batch>| {
        let function = function.clone();
        async move {
            let answer = function.perform(payload, deadline(context.deadline)).await;
            function.print_metrics();
            Ok::<_, Infallible>(answer)
        }
    });
    Runtime::new(handle).run().await
}
