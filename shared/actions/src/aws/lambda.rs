//! The action `Lambda`: `Invoke`, asynchronously.

use minutehand_domain::action::Lambda;
use minutehand_domain::arn::Arn;
use minutehand_domain::missed::Missed;
use minutehand_ports::AttemptContext;
use minutehand_recurrence::format_instant;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;

use super::{Account, Answer, ApiCall, Service};
use crate::outcome::ActionFailure;

impl Service for Lambda {
    const NAME: &'static str = "lambda";

    fn region(&self, account: &Account) -> Result<String, ActionFailure> {
        Ok(account.region_of(Arn::read(&self.function, "lambda").as_ref()))
    }

    fn call(&self, context: &AttemptContext) -> ApiCall {
        let function = utf8_percent_encode(&self.function, NON_ALPHANUMERIC);
        ApiCall {
            path: format!("/2015-03-31/functions/{function}/invocations"),
            headers: vec![("content-type", "application/json"), ("x-amz-invocation-type", "Event")],
            body: self.payload.clone().unwrap_or_else(|| facts(context)),
        }
    }

    fn description(&self) -> String {
        format!("Invocation of '{}'", self.function)
    }

    fn accepted_id(&self, answer: &Answer<'_>) -> Result<Option<String>, ActionFailure> {
        Ok(answer.header("x-amzn-requestid"))
    }
}

/// What a function without a payload of its own receives. Lambda passes the context of a client on only to
/// functions that are waited for.
fn facts(context: &AttemptContext) -> String {
    let Missed { occurrences, since, last_success } = context.missed;
    json!({
        "job": context.job_path,
        "executionId": context.execution_id,
        "occurrence": format_instant(context.expected_at),
        "missed": occurrences,
        "missedSince": since.map(format_instant),
        "lastSuccess": last_success.map(format_instant),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::*;

    #[test]
    fn the_function_receives_its_payload_unchanged_and_asynchronously() {
        let call_of = |function: &str, payload: Option<&str>| {
            let payload = payload.map(str::to_owned);
            Lambda { function: function.to_owned(), payload }.call(&context())
        };
        let call = call_of("arn:aws:lambda:eu-west-1:1:function:f:live", Some(" [1] "));
        let path = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aeu%2Dwest%2D1%3A1%3Afunction%3Af\
                    %3Alive/invocations";
        assert_eq!((call.path.as_str(), call.body.as_str()), (path, " [1] "));
        assert!(call.headers.contains(&("x-amz-invocation-type", "Event")));
        assert_eq!(call_of("f", Some("{}")).body, "{}");
    }

    #[test]
    fn a_function_without_a_payload_receives_the_execution() {
        let call = Lambda { function: "f".to_owned(), payload: None }.call(&context());
        let body: serde_json::Value = serde_json::from_str(&call.body).unwrap();
        let expected = json!({
            "job": "s/Grün, 1/c/nightly", "executionId": "u1.1.2.m0",
            "occurrence": "2023-11-14T22:13:20.0000005Z", "missed": 0, "missedSince": null,
            "lastSuccess": null,
        });
        assert_eq!(body, expected);
    }
}
