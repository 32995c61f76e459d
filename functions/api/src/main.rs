//! The API's Lambda function: settings and clients, then one answer per event.

use std::process::ExitCode;
use std::sync::Arc;

use lambda_runtime::{Diagnostic, Error, LambdaEvent, Runtime, service_fn};
use minutehand_api::{ApiClients, ApiSettings, Function, HttpEvent};
use minutehand_runtime::SystemClock;
use minutehand_runtime_aws::{AwsSettings, DynamoDb, ErrorType, report, serve};

fn main() -> ExitCode {
    serve(ApiSettings::read, run)
}

async fn run(aws: AwsSettings, settings: ApiSettings) -> Result<(), Error> {
    let config = aws.config()?;
    let clients = ApiClients {
        dynamodb: DynamoDb::new(&aws, &config).await?,
        sqs: aws_sdk_sqs::Client::new(&config),
        kms: aws_sdk_kms::Client::new(&config),
    };
    let function = Function::new(settings, &aws.region, clients, Arc::new(SystemClock));
    let function = Arc::new(function);
    let handle = service_fn(move |event: LambdaEvent<HttpEvent>| {
        let function = function.clone();
        async move {
            let answer = function.answer(event.payload).await;
            function.print_metrics();
            answer.map_err(|error| {
                report(ErrorType::EventUnreadable, &error);
                Diagnostic {
                    error_type: ErrorType::EventUnreadable.to_string(),
                    error_message: error.to_string(),
                }
            })
        }
    });
    Runtime::new(handle).run().await
}
