//! The API behind API Gateway: an event becomes a request, the router answers it, and the answer goes
//! back. What a request does, and what a crash leaves of it, is said in `app` and `rest`.

mod event;
mod settings;

use std::sync::{Arc, RwLock};

use app::fire::Dispatcher;
use app::{Manage, ManagePorts};
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use ports::{Clock, IdSource};
use queue_sqs::SqsQueue;
use rest::{BuildInfo, Rest, Scheme};
use runtime::{PfxReader, RandomIds};
use runtime_aws::{Tally, print_metrics};
use sealer_kms::KmsSealer;
use store_dynamodb::DynamoStore;
use tower::ServiceExt;

pub use event::{HttpAnswer, HttpEvent, NotARequest};
pub use settings::ApiSettings;

/// The clients of AWS that the API calls.
#[derive(Debug, Clone)]
pub struct ApiClients {
    /// Where everything is kept.
    pub dynamodb: aws_sdk_dynamodb::Client,
    /// Where what is due soon goes.
    pub sqs: aws_sdk_sqs::Client,
    /// Who seals secrets.
    pub kms: aws_sdk_kms::Client,
}

/// The function.
pub struct Function {
    router: Router,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
    table: String,
}

/// Why an event was not answered.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// It is no request.
    #[error(transparent)]
    NotARequest(#[from] NotARequest),
    /// The answer could not be read.
    #[error("the answer ended before its end")]
    AwsAnswer(#[source] axum::Error),
}

impl Function {
    /// The function over these clients.
    #[must_use]
    pub fn new(
        settings: ApiSettings,
        region: &str,
        clients: ApiClients,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let store = Arc::new(DynamoStore::new(clients.dynamodb, &settings.table));
        let queue = Arc::new(SqsQueue::new(clients.sqs, &settings.queue_url, clock.clone()));
        let tally = Arc::new(Tally::default());
        let ids: Arc<dyn IdSource> = Arc::new(RandomIds);
        let dispatcher =
            Dispatcher::new(store.clone(), queue.clone(), tally.clone(), clock.clone(), None);
        let ports = ManagePorts {
            collections: store.clone(),
            jobs: store.clone(),
            history: store,
            queue,
            dispatcher,
            sealer: Arc::new(KmsSealer::new(clients.kms, &settings.key_id)),
            certificates: Arc::new(PfxReader),
            clock: clock.clone(),
            ids: ids.clone(),
            // DynamoDB that answers takes writes.
            disk: Arc::new(()),
        };
        let wanted = app::ManageSettings {
            region: region.to_owned(),
            plan_limits: settings.plan_limits,
            has_aws: true,
        };
        let router = rest::router(Rest {
            manage: Manage::new(ports, wanted),
            clock: clock.clone(),
            ids,
            access: Arc::new(RwLock::new(settings.access)),
            scheme: Scheme::Https,
            build: build_info(),
            metrics: None,
        });
        Self { router, clock, tally, table: settings.table }
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub async fn answer(&self, event: HttpEvent) -> Result<HttpAnswer, Unanswered> {
        let response = self.respond(event.into_request()?).await;
        HttpAnswer::of(response).await.map_err(Unanswered::AwsAnswer)
    }

    /// Prints what was counted since the last time.
    pub fn print_metrics(&self) {
        print_metrics(&self.tally, &self.table, self.clock.work_now());
    }

    async fn respond(&self, request: Request<Body>) -> Response {
        match self.router.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

fn build_info() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: env!("MINUTEHAND_COMMIT").to_owned(),
        store: "DynamoDB".to_owned(),
        time_zones: recurrence::zone::database_version().to_owned(),
    }
}
