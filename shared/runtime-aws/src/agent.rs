//! A short user agent for requests to AWS.
//!
//! For each request the SDK assembles a long user agent with its version and configuration, and signs
//! it. That took a tenth of the CPU time of a request. One word is enough to find the requests in the
//! audit trail of AWS.

use aws_runtime::user_agent::UserAgentInterceptor;
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeSerializationInterceptorContextRef, BeforeTransmitInterceptorContextMut,
};
use aws_smithy_runtime_api::client::interceptors::{
    Intercept, SharedInterceptor, disable_interceptor, dyn_dispatch_hint,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

/// The user agent.
pub(crate) const AGENT: &str = "minutehand";

/// Makes a client send `minutehand` as its user agent, and nothing else.
pub(crate) fn brief_agent() -> SharedInterceptor {
    SharedInterceptor::permanent(BriefAgent)
}

#[derive(Debug)]
struct BriefAgent;

#[dyn_dispatch_hint]
impl Intercept for BriefAgent {
    fn name(&self) -> &'static str {
        "BriefAgent"
    }

    fn read_before_execution(
        &self,
        _: &BeforeSerializationInterceptorContextRef<'_>,
        cfg: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let disabled = disable_interceptor::<UserAgentInterceptor>("a shorter user agent is sent");
        cfg.interceptor_state().store_put(disabled);
        Ok(())
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        context.request_mut().headers_mut().insert("user-agent", AGENT);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use aws_smithy_runtime_api::client::http::{
        HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
    };
    use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
    use aws_smithy_runtime_api::client::result::ConnectorError;

    use super::*;
    use crate::{AwsSettings, Variables};

    /// Saves requests and fails all of them.
    #[derive(Debug, Clone, Default)]
    struct SavedRequests(Arc<Mutex<Vec<HttpRequest>>>);

    impl HttpConnector for SavedRequests {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            self.0.lock().unwrap().push(request);
            HttpConnectorFuture::ready(Err(ConnectorError::user("saved".into())))
        }
    }

    #[tokio::test]
    async fn a_request_has_a_short_user_agent_that_is_not_signed() {
        let mut variables = Variables::of([
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ]);
        let (saved, settings) = (SavedRequests::default(), AwsSettings::read(&mut variables));
        let connector = SharedHttpConnector::new(saved.clone());
        let mut config = aws_sdk_dynamodb::config::Builder::from(&settings.config().unwrap());
        config.set_http_client(Some(http_client_fn(move |_, _| connector.clone())));
        config.push_interceptor(brief_agent());
        let client = aws_sdk_dynamodb::Client::from_conf(config.build());
        client.list_tables().send().await.unwrap_err();

        let saved = saved.0.lock().unwrap();
        let [request] = saved.as_slice() else { panic!("{} requests", saved.len()) };
        let headers = request.headers();
        assert_eq!(headers.get("user-agent"), Some(AGENT));
        assert_eq!(headers.get("x-amz-user-agent"), None);
        let signed = headers.get("authorization").unwrap();
        assert!(signed.contains("SignedHeaders=") && !signed.contains("agent"), "{signed}");
    }
}
