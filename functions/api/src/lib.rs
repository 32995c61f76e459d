//! The API as a Lambda function behind API Gateway.
//!
//! Lambda calls it. It never decides about a request: `rest` and `app` do.
//!
//! [`Function::answer`] turns an event into an HTTP request, passes it to the router of `rest`, and
//! turns the response into the function's answer. `rest` and `app` document what a request does, and
//! what remains of it after a crash.

mod event;
mod settings;

use std::sync::{Arc, RwLock};

use axum::Router;
use axum::body::Body;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, Request};
use axum::response::Response;
use minutehand_app::fire::Dispatcher;
use minutehand_app::{COMPLETION_KEY, CompletionUrls, Manage, ManagePorts};
use minutehand_archive_objects::{ArchivedBodies, ArchivedHistory, Objects};
use minutehand_console::SignIn;
use minutehand_ports::{Clock, DeadLetters, FailureBodies, History, IdSource, Sealer};
use minutehand_queue_sqs::{SqsDeadLetters, SqsQueue};
use minutehand_rest::{BuildInfo, Rest, Scheme};
use minutehand_runtime::{PfxReader, RandomIds};
use minutehand_runtime_aws::{DynamoDb, Tally, print_metrics};
use minutehand_sealer_kms::KmsSealer;
use minutehand_store_dynamodb::{DynamoStore, StoredKey};
use tower::ServiceExt;

pub use event::{HttpAnswer, HttpEvent, NotARequest};
pub use settings::ApiSettings;

/// The page of the console.
const CONSOLE_PAGE: &str = "/console/index.html";

/// The AWS clients that the API uses.
#[derive(Debug, Clone)]
pub struct ApiClients {
    /// For the store.
    pub dynamodb: DynamoDb,
    /// For the queue, to dispatch jobs that are due soon.
    pub sqs: aws_sdk_sqs::Client,
    /// For sealing secrets.
    pub kms: aws_sdk_kms::Client,
}

/// The Lambda function.
pub struct Function {
    router: Router,
    clock: Arc<dyn Clock>,
    tally: Arc<Tally>,
    table: String,
    sign_in: Option<SignIn>,
}

/// Why an event could not be answered.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// The event is not an HTTP request.
    #[error(transparent)]
    NotARequest(#[from] NotARequest),
    /// The body of the response could not be read to its end.
    #[error("cannot read the body of the response")]
    Response(#[source] axum::Error),
}

/// The history of the table, and of an archive if there is one.
fn with_archive(store: &Arc<DynamoStore>, archive: Option<Objects>) -> Arc<dyn History> {
    match archive {
        Some(objects) => Arc::new(ArchivedHistory::new(store.clone(), objects)),
        None => store.clone(),
    }
}

/// The bodies of failures and of pings, if there is an archive.
fn kept_bodies(archive: Option<&Objects>) -> Option<Arc<dyn FailureBodies>> {
    archive.cloned().map(|objects| Arc::new(ArchivedBodies::new(objects)) as _)
}

/// Takes pings, if the API is open: where it asks for certificates, no sender of pings has one.
fn taking_pings(
    manage: Manage,
    is_open: bool,
    (pings, bodies): (Arc<DynamoStore>, Option<Arc<dyn FailureBodies>>),
) -> Manage {
    if is_open { manage.with_pings_and_bodies(pings, bodies) } else { manage }
}

impl Function {
    /// Builds the function on these clients.
    #[must_use]
    pub fn new(
        settings: ApiSettings,
        region: &str,
        clients: ApiClients,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let tally: Arc<Tally> = Arc::default();
        let dynamodb = clients.dynamodb.counting_throttles(&tally);
        let store = DynamoStore::new(dynamodb.client(), &settings.table)
            .with_connector(dynamodb.connector())
            .with_history(settings.history);
        let store = Arc::new(store);
        let queue = SqsQueue::new(clients.sqs.clone(), &settings.queue_url, clock.clone());
        let dead_letters: Arc<dyn DeadLetters> = match &settings.dead_letters_url {
            Some(url) => Arc::new(SqsDeadLetters::new(clients.sqs, url, queue.clone())),
            None => Arc::new(()),
        };
        let queue = Arc::new(queue);
        let ids: Arc<dyn IdSource> = Arc::new(RandomIds);
        let events = tally.clone();
        let dispatcher =
            Dispatcher::new(store.clone(), store.clone(), queue.clone(), events, clock.clone());
        let bodies = kept_bodies(settings.archive.as_ref());
        let sealer = KmsSealer::new(clients.kms, &settings.key_id);
        let sealer: Arc<dyn Sealer> = Arc::new(sealer.sharing(store.clone(), clock.clone()));
        let key = StoredKey::new(store.clone(), sealer.clone(), ids.clone(), COMPLETION_KEY);
        let completions = settings.public_url.as_deref();
        let completions = completions.map(|url| Arc::new(CompletionUrls::new(url, Arc::new(key))));
        let pings = store.clone();
        let ports = ManagePorts {
            collections: store.clone(),
            cloud_services: store.clone(),
            jobs: store.clone(),
            alerts: store.clone(),
            open: store.clone(),
            history: with_archive(&store, settings.archive),
            browse: store.clone(),
            queue,
            dead_letters,
            hanging: store,
            dispatcher,
            sealer,
            certificates: Arc::new(PfxReader),
            clock: clock.clone(),
            ids: ids.clone(),
            // There is no local disk: if DynamoDB answers, it also accepts writes.
            disk: Arc::new(()),
            bodies: bodies.clone(),
            // The role of this function may call nothing of what jobs call.
            sender: None,
            completions,
        };
        let wanted = minutehand_app::ManageSettings {
            region: region.to_owned(),
            plan_limits: settings.plan_limits,
            has_aws: settings.has_aws,
            own: settings.own,
            history: settings.history,
        };
        let manage = Manage::new(ports, wanted);
        let manage = taking_pings(manage, settings.public_url.is_some(), (pings, bodies));
        let router = minutehand_rest::router(Rest {
            manage,
            clock: clock.clone(),
            ids,
            access: Arc::new(RwLock::new(settings.access)),
            // The gateway has ended TLS.
            certificates: Arc::default(),
            scheme: Scheme::Https,
            build: build_info(),
            readiness: Arc::new(()),
            metrics: None,
            live: None,
            home: minutehand_rest::Home::Aws,
        });
        Self { router, clock, tally, table: settings.table, sign_in: settings.sign_in }
    }

    /// Answers the request in an event.
    ///
    /// # Errors
    ///
    /// If the event is not an HTTP request, or the response cannot be read.
    pub async fn answer(&self, event: HttpEvent) -> Result<HttpAnswer, Unanswered> {
        let response = self.respond(event.into_request()?).await;
        HttpAnswer::from_response(response).await.map_err(Unanswered::Response)
    }

    /// Prints the metrics counted since the last call.
    pub fn print_metrics(&self) {
        print_metrics(&self.tally, &self.table, self.clock.work_now());
    }

    /// The files of the console lie beside the API, as on one machine. The gateway has an open route
    /// for its files, and none for the folder, so a browser is sent to the page by its name.
    async fn respond(&self, request: Request<Body>) -> Response {
        let path = request.uri().path();
        let file = minutehand_console::answer(request.method(), path, request.headers());
        if let Some(mut file) = file {
            if file.status().is_redirection() && file.headers().contains_key(LOCATION) {
                file.headers_mut().insert(LOCATION, HeaderValue::from_static(CONSOLE_PAGE));
            }
            return match &self.sign_in {
                Some(sign_in) => sign_in.applied(path, file).map(Body::from),
                None => file.map(Body::from),
            };
        }
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
        time_zones: minutehand_recurrence::zone::database_version().to_owned(),
        time_zones_date: minutehand_recurrence::zone::database_date(),
    }
}
