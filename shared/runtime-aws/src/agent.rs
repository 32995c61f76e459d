//! Who calls AWS, in a word.
//!
//! The SDK puts together for each request what it was built with, by whom and for what, and signs it:
//! that was a tenth of what a request costs. Nobody here reads it; AWS shows the word in its trail.

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

/// The word.
const AGENT: &str = "minutehand";

/// For a client that says who it is, and no more.
#[must_use]
pub fn brief_agent() -> SharedInterceptor {
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
        let disabled = disable_interceptor::<UserAgentInterceptor>("a word is said instead");
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

    /// Keeps requests, and answers none.
    #[derive(Debug, Clone, Default)]
    struct SavedRequests(Arc<Mutex<Vec<HttpRequest>>>);

    impl HttpConnector for SavedRequests {
        fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
            self.0.lock().unwrap().push(request);
            HttpConnectorFuture::ready(Err(ConnectorError::user("it is kept".into())))
        }
    }

    #[tokio::test]
    async fn a_request_says_a_word_and_is_signed_without_more() {
        let mut variables = Variables::of([
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE"),
            ("AWS_SECRET_ACCESS_KEY", "hunter2"),
        ]);
        let (kept, settings) = (SavedRequests::default(), AwsSettings::read(&mut variables));
        let connector = SharedHttpConnector::new(kept.clone());
        let mut config = aws_sdk_dynamodb::config::Builder::from(&settings.config());
        config.set_http_client(Some(http_client_fn(move |_, _| connector.clone())));
        config.push_interceptor(brief_agent());
        let client = aws_sdk_dynamodb::Client::from_conf(config.build());
        client.list_tables().send().await.unwrap_err();

        let kept = kept.0.lock().unwrap();
        let [request] = kept.as_slice() else { panic!("{} requests", kept.len()) };
        let headers = request.headers();
        assert_eq!(headers.get("user-agent"), Some(AGENT));
        assert_eq!(headers.get("x-amz-user-agent"), None);
        let signed = headers.get("authorization").unwrap();
        assert!(signed.contains("SignedHeaders=") && !signed.contains("agent"), "{signed}");
    }
}
