//! The action `Lambda`: `Invoke`, asynchronously.

use minutehand_domain::action::Lambda;
use minutehand_domain::arn::Arn;
use minutehand_ports::AttemptContext;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::{Account, Answer, ApiCall, Service};
use crate::outcome::ActionFailure;

impl Service for Lambda {
    const NAME: &'static str = "lambda";

    fn region(&self, account: &Account) -> Result<String, ActionFailure> {
        Ok(account.region_of(Arn::read(&self.function, "lambda").as_ref()))
    }

    fn call(&self, _context: &AttemptContext) -> ApiCall {
        let function = utf8_percent_encode(&self.function, NON_ALPHANUMERIC);
        ApiCall {
            path: format!("/2015-03-31/functions/{function}/invocations"),
            headers: vec![("content-type", "application/json"), ("x-amz-invocation-type", "Event")],
            body: self.payload.clone().unwrap_or_else(|| "{}".to_owned()),
        }
    }

    fn description(&self) -> String {
        format!("Invocation of '{}'", self.function)
    }

    fn accepted_id(&self, answer: &Answer<'_>) -> Result<Option<String>, ActionFailure> {
        Ok(answer.header("x-amzn-requestid"))
    }
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
        assert_eq!(call_of("f", None).body, "{}");
    }
}
