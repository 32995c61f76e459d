//! A Lambda function that does nothing: the baseline for measuring the cold start of the others.

use lambda_runtime::{Error, LambdaEvent, Runtime, service_fn};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    Runtime::new(service_fn(|_: LambdaEvent<Value>| async { Ok::<_, Error>(json!("hello")) }))
        .run()
        .await
}
