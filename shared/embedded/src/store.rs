//! Opening, using and closing a store.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Region, StalledStreamProtectionConfig};
use tokio::sync::Semaphore;

use crate::connector::Connector;
use crate::data_dir::DataDir;
use crate::database::{Database, STORE};
use crate::error::OpenError;
use crate::log::SyncMode;
use crate::serving::{self, IN_FLIGHT_MAX, ThreadMessage};
use crate::thread::{StoreRequest, StoreServer};

/// Where the SDK believes its requests go; the name is reserved for things that do not exist.
const ENDPOINT: &str = "http://embedded.invalid";
const REGION: &str = "local";

/// A running store.
///
/// It runs until it and every client made from it are dropped, or until it is closed.
#[derive(Debug)]
pub struct Store {
    connector: Connector,
    messages: Sender<ThreadMessage<StoreRequest>>,
}

impl Store {
    /// Opens the store in a data directory, and creates it if it is missing.
    ///
    /// Waits for the disk, so it belongs into a program's start.
    ///
    /// # Errors
    ///
    /// If the database cannot be opened.
    pub fn open(data_dir: &DataDir, sync: SyncMode) -> Result<Self, OpenError> {
        Self::start(Database::open(data_dir)?, sync)
    }

    /// Makes a store that is gone when it stops.
    ///
    /// # Errors
    ///
    /// If there is no memory, or no thread, for it.
    pub fn in_memory() -> Result<Self, OpenError> {
        Self::start(Database::in_memory()?, SyncMode::Normal)
    }

    /// Returns an SDK client whose requests come here.
    ///
    /// It has no credentials and signs nothing, never retries, has no timeouts, and reads nothing
    /// from the environment. A request that was sent is performed, whether or not anybody
    /// still waits for its answer.
    #[must_use]
    pub fn client(&self) -> Client {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(self.connector.clone())
            .endpoint_url(ENDPOINT)
            .region(Region::from_static(REGION))
            // With no credentials beside it this is the only scheme left, and a signature that
            // nobody checks is a sixth of what a small request costs.
            .allow_no_auth()
            // An answer cannot be lost on the way, and what failed would only fail again.
            .retry_config(RetryConfig::disabled())
            // Nothing here waits for anybody else; a wait would end with the store.
            .timeout_config(TimeoutConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Client::from_conf(config)
    }

    /// Stops the store once what it has accepted is answered, and lets its directory go.
    ///
    /// Clients that are still there get errors from then on.
    pub async fn close(self) {
        serving::close(self.messages).await;
    }

    /// Where its thread is asked.
    pub(crate) fn messages(&self) -> Sender<ThreadMessage<StoreRequest>> {
        self.messages.clone()
    }

    fn start(database: Database, sync: SyncMode) -> Result<Self, OpenError> {
        let messages = serving::start(STORE, StoreServer { database, sync })?;
        let places = Arc::new(Semaphore::new(IN_FLIGHT_MAX));
        Ok(Self { connector: Connector::new(messages.clone(), places), messages })
    }
}
