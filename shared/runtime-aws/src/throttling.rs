//! Counts requests that the table refuses as too many.
//!
//! The metrics of AWS count them for the table and for its index apart, each as a metric that an alarm
//! pays for. The functions see both.

use std::sync::Arc;

use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::FinalizerInterceptorContextRef;
use aws_smithy_runtime_api::client::interceptors::{
    Intercept, SharedInterceptor, dyn_dispatch_hint,
};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

use crate::{Metric, Tally};

/// What a refused request contains: the codes of both modes of capacity, of the account, and of one
/// item in a transaction.
const CODES: [&str; 4] = [
    "ProvisionedThroughputExceeded",
    "ThrottlingException",
    "RequestLimitExceeded",
    "\"ThrottlingError\"",
];

/// The same client, which counts requests that are refused as too many even at their last try.
#[must_use]
pub fn counting_throttles(
    client: &aws_sdk_dynamodb::Client,
    tally: &Arc<Tally>,
) -> aws_sdk_dynamodb::Client {
    let mut config = client.config().to_builder();
    config.push_interceptor(SharedInterceptor::permanent(CountThrottles(tally.clone())));
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

#[derive(Debug)]
struct CountThrottles(Arc<Tally>);

#[dyn_dispatch_hint]
impl Intercept for CountThrottles {
    fn name(&self) -> &'static str {
        "CountThrottles"
    }

    fn read_after_execution(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if context.response().is_some_and(is_throttled) {
            self.0.add(Metric::Throttled, 1);
        }
        Ok(())
    }
}

/// Whether the answer refuses a request as too many. Errors of DynamoDB have the status 400.
pub(crate) fn is_throttled(response: &HttpResponse) -> bool {
    if response.status().as_u16() != 400 {
        return false;
    }
    let text = String::from_utf8_lossy(response.body().bytes().unwrap_or_default());
    CODES.into_iter().any(|code| text.contains(code))
}
