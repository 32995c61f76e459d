//! The operations that every firing and every pass repeat, sent past the SDK's client where there is
//! a shorter way.
//!
//! For each request the client assembles configuration, interceptors, endpoint, identity and retries
//! anew, which takes longer than writing the request and reading its answer. The shorter way is a
//! connector that does what is left: on AWS it signs, sends and tries again; on one machine it passes
//! the request to the store's thread. The SDK writes the request and reads the answer in both ways, so
//! they have the same types and the same errors.

use std::future::Future;
use std::sync::LazyLock;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, SdkError};
use aws_sdk_dynamodb::operation::{
    batch_get_item, delete_item, get_item, put_item, query, transact_write_items, update_item,
};
use aws_smithy_runtime_api::client::http::HttpConnector as _;
use aws_smithy_runtime_api::client::interceptors::context::{Error, Input};
use aws_smithy_runtime_api::client::orchestrator::{HttpResponse, OrchestratorError};
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin as _;
use aws_smithy_runtime_api::client::ser_de::{
    DeserializeResponse as _, SerializeRequest as _, SharedRequestSerializer,
    SharedResponseDeserializer,
};
use aws_smithy_types::config_bag::{ConfigBag, FrozenLayer};

use super::client::Table;

/// The result of sending a request.
type Sent<O> = Result<<O as Operation>::Output, SdkError<<O as Operation>::Error, HttpResponse>>;

/// A request of an operation.
pub(crate) trait Operation: Sized {
    /// The answer.
    type Output: std::fmt::Debug + Send + Sync + 'static;
    /// The error that the service answers.
    type Error: std::error::Error + Send + Sync + 'static;

    /// The SDK's configuration of the operation, which has its serializer and its deserializer.
    fn config() -> Option<&'static FrozenLayer>;

    /// The request, if all is set that it needs.
    fn input(self) -> Result<Input, BuildError>;

    /// Sends the request with the SDK's client.
    fn send_with(self, client: &Client) -> impl Future<Output = Sent<Self>> + Send;
}

/// Implements [`Operation`] for the builder of its requests.
macro_rules! operation {
    ($module:ident, $name:ident, $builder:ident, $output:ident, $error:ident) => {
        impl Operation for $module::builders::$builder {
            type Output = $module::$output;
            type Error = $module::$error;

            fn config() -> Option<&'static FrozenLayer> {
                static CONFIG: LazyLock<Option<FrozenLayer>> =
                    LazyLock::new(|| $module::$name::new().config());
                CONFIG.as_ref()
            }

            fn input(self) -> Result<Input, BuildError> {
                self.build().map(Input::erase)
            }

            fn send_with(self, client: &Client) -> impl Future<Output = Sent<Self>> + Send {
                $module::builders::$builder::send_with(self, client)
            }
        }
    };
}

operation!(
    batch_get_item,
    BatchGetItem,
    BatchGetItemInputBuilder,
    BatchGetItemOutput,
    BatchGetItemError
);
operation!(delete_item, DeleteItem, DeleteItemInputBuilder, DeleteItemOutput, DeleteItemError);
operation!(get_item, GetItem, GetItemInputBuilder, GetItemOutput, GetItemError);
operation!(put_item, PutItem, PutItemInputBuilder, PutItemOutput, PutItemError);
operation!(query, Query, QueryInputBuilder, QueryOutput, QueryError);
operation!(
    transact_write_items,
    TransactWriteItems,
    TransactWriteItemsInputBuilder,
    TransactWriteItemsOutput,
    TransactWriteItemsError
);
operation!(update_item, UpdateItem, UpdateItemInputBuilder, UpdateItemOutput, UpdateItemError);

impl Table {
    /// Sends a request by the shortest way that the table has.
    pub(crate) async fn send<O: Operation>(&self, request: O) -> Sent<O> {
        let Some(connector) = &self.connector else {
            // The future of the client is large, and only callers without a connector need it.
            return Box::pin(request.send_with(&self.client)).await;
        };
        let config = O::config();
        let serializer = config.and_then(|config| config.load::<SharedRequestSerializer>());
        let deserializer = config.and_then(|config| config.load::<SharedResponseDeserializer>());
        let (Some(serializer), Some(deserializer)) = (serializer, deserializer) else {
            return Box::pin(request.send_with(&self.client)).await;
        };
        let input = request.input().map_err(SdkError::construction_failure)?;
        let request = serializer
            .serialize_input(input, &mut ConfigBag::base())
            .map_err(SdkError::construction_failure)?;
        let response = connector.call(request).await.map_err(SdkError::dispatch_failure)?;
        if response.body().bytes().is_none() {
            return Err(SdkError::response_error("the answer was not read to its end", response));
        }
        match deserializer.deserialize_nonstreaming_with_config(&response, &ConfigBag::base()) {
            Ok(output) => match output.downcast() {
                Ok(output) => Ok(output),
                Err(_) => Err(SdkError::response_error("an answer of another type", response)),
            },
            Err(error) => Err(sdk_error(error, response)),
        }
    }
}

/// The error as the SDK's client returns it.
fn sdk_error<E>(
    error: OrchestratorError<Error>,
    response: HttpResponse,
) -> SdkError<E, HttpResponse>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let mut of_service = None;
    let other = error.map_operation_error(|error| of_service = Some(error));
    match of_service.map(Error::downcast::<E>) {
        Some(Ok(error)) => SdkError::service_error(error, response),
        Some(Err(error)) => SdkError::response_error(error, response),
        None => SdkError::response_error(format!("{other:?}"), response),
    }
}
