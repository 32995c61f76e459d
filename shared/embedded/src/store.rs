//! Opens, provides and closes a store.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Region, StalledStreamProtectionConfig};
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use tokio::sync::Semaphore;

use crate::connector::Connector;
use crate::data_dir::DataDir;
use crate::database::{Database, STORE};
use crate::error::OpenError;
use crate::log::SyncMode;
use crate::serving::{self, IN_FLIGHT_MAX, ThreadMessage};
use crate::thread::{StoreRequest, StoreServer};

/// The endpoint of the SDK's requests; the top-level domain is reserved and never resolves.
const ENDPOINT: &str = "http://embedded.invalid";
const REGION: &str = "local";

/// A running store.
///
/// The store runs until it and every client of it are dropped, or until it is closed.
#[derive(Debug)]
pub struct Store {
    connector: Connector,
    messages: Sender<ThreadMessage<StoreRequest>>,
}

impl Store {
    /// Opens the store in a data directory, and creates it if it is missing.
    ///
    /// This blocks on the disk, so call it while the program starts.
    ///
    /// # Errors
    ///
    /// Returns an error if the database cannot be opened.
    pub fn open(data_dir: &DataDir, sync: SyncMode) -> Result<Self, OpenError> {
        Self::start(Database::open(data_dir)?, sync)
    }

    /// Creates a store in memory; its items are lost when it stops.
    ///
    /// # Errors
    ///
    /// Returns an error if there is not enough memory, or if its thread cannot be started.
    pub fn in_memory() -> Result<Self, OpenError> {
        Self::start(Database::in_memory()?, SyncMode::Normal)
    }

    /// Returns an SDK client of this store.
    ///
    /// The client has no credentials and signs nothing, never retries, has no timeouts, and reads
    /// nothing from the environment. A request that was sent is performed even if its caller is
    /// cancelled.
    #[must_use]
    pub fn client(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(self.connector.clone())
            .endpoint_url(ENDPOINT)
            .region(Region::from_static(REGION))
            // A signature would never be checked, and takes a sixth of the time of a small request.
            .allow_no_auth()
            // No answer can be lost on the way, and a failed request would only fail again.
            .retry_config(RetryConfig::disabled())
            // A request waits for nothing outside this process, and closing the store ends the wait.
            .timeout_config(TimeoutConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Client::from_conf(config)
    }

    /// Returns the connector of [`client`](Self::client), for requests that go past the client.
    #[must_use]
    pub fn connector(&self) -> SharedHttpConnector {
        SharedHttpConnector::new(self.connector.clone())
    }

    /// Answers all accepted requests, then stops the store and releases its directory.
    ///
    /// From then on, clients of the store get errors.
    pub async fn close(self) {
        serving::close(self.messages).await;
    }

    /// The channel to the store's thread.
    pub(crate) fn messages(&self) -> Sender<ThreadMessage<StoreRequest>> {
        self.messages.clone()
    }

    pub(crate) fn start(database: Database, sync: SyncMode) -> Result<Self, OpenError> {
        let messages = serving::start(STORE, StoreServer { database, sync })?;
        let permits = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        Ok(Self { connector: Connector::new(messages.clone(), permits), messages })
    }
}
