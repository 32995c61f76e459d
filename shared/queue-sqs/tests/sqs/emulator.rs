//! The queue and the dead letters of an emulator, which decides for itself what a request does:
//! `tests/actions/run` starts one, and these tests beside its own.

use std::sync::Arc;

use async_trait::async_trait;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::QueueAttributeName;
use aws_sdk_sqs::{Client, Config};
use chrono::{DateTime, TimeDelta};
use minutehand_domain::work_item::{WorkItem, decode};
use minutehand_ports::{ChosenLetters, DeadLetters, Deliveries, DispatchQueue};
use minutehand_queue_sqs::{SqsDeadLetters, SqsQueue};
use minutehand_testkit::SetClock;
use minutehand_testkit::back_end::{new_table, plain_http, sqs_endpoint};
use minutehand_testkit::conformance::{
    OpenedQueue, QueueBackEnd, QueueSubject, check_queue, queue_behaviours,
};

/// A queue, and the one that its messages go to when they have been delivered.
struct Queues {
    client: Client,
    queue: String,
    dead: String,
}

impl Queues {
    async fn new() -> Self {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(plain_http())
            .endpoint_url(sqs_endpoint())
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "tests"))
            .build();
        let client = Client::from_conf(config);
        let name = new_table("queue");
        let create = client.create_queue().queue_name(format!("{name}-dead"));
        let dead = create.send().await.unwrap().queue_url.unwrap();
        let arn = client.get_queue_attributes().queue_url(&dead);
        let arn = arn.attribute_names(QueueAttributeName::QueueArn).send().await.unwrap();
        let arn = &arn.attributes.unwrap()[&QueueAttributeName::QueueArn];
        let policy = format!(r#"{{"deadLetterTargetArn":"{arn}","maxReceiveCount":"1"}}"#);
        let create = client.create_queue().queue_name(name);
        let create = create.attributes(QueueAttributeName::RedrivePolicy, policy);
        let queue = create.send().await.unwrap().queue_url.unwrap();
        Self { client, queue, dead }
    }

    /// Sends messages that are delivered once too often.
    async fn with_dead(bodies: &[&str]) -> Self {
        let queues = Self::new().await;
        for body in bodies {
            let send = queues.client.send_message().queue_url(&queues.queue);
            send.message_body(*body).send().await.unwrap();
        }
        // The first delivery is allowed. At the next one SQS moves a message instead.
        for _ in 0..2 * bodies.len() {
            drop(queues.receive(&queues.queue).await);
        }
        queues
    }

    /// The bodies that a queue delivers, which are shown again at once.
    async fn receive(&self, url: &str) -> Vec<String> {
        let receive = self.client.receive_message().queue_url(url);
        let receive = receive.visibility_timeout(0).max_number_of_messages(10);
        let found = receive.send().await.unwrap().messages.unwrap_or_default();
        found.into_iter().filter_map(|message| message.body).collect()
    }

    fn sender(&self) -> SqsQueue {
        let start = DateTime::from_timestamp(QueueSubject::START, 0).unwrap();
        let clock = Arc::new(SetClock::at(start));
        SqsQueue::new(self.client.clone(), self.queue.as_str(), clock)
    }

    fn letters(&self) -> SqsDeadLetters {
        SqsDeadLetters::new(self.client.clone(), self.dead.as_str(), self.sender())
    }

    /// The ids of the dead letters with these bodies.
    async fn ids_of(&self, bodies: &[&str]) -> ChosenLetters {
        let receive = self.client.receive_message().queue_url(&self.dead);
        let receive = receive.visibility_timeout(0).max_number_of_messages(10);
        let found = receive.send().await.unwrap().messages.unwrap_or_default();
        let chosen = found.into_iter().filter(|it| bodies.contains(&it.body().unwrap()));
        ChosenLetters::Ids(chosen.map(|it| it.message_id.unwrap()).collect())
    }
}

const BODIES: [&str; 3] = [r#"{"v":1,"do":"purge","c":"a"}"#, "unreadable", "{}"];

#[tokio::test]
#[ignore = "it needs an SQS: tests/actions/run starts one"]
async fn dead_letters_are_listed() {
    let queues = Queues::with_dead(&BODIES).await;
    let letters = queues.letters();
    assert_eq!(letters.count().await.unwrap(), Some(3));
    let seen = letters.look(10).await.unwrap();
    assert_eq!((seen.about, seen.items.len()), (3, 3));
    let readable = seen.items.iter().filter(|letter| letter.work_items.is_ok()).count();
    assert_eq!(readable, 1, "{seen:?}");
    assert!(seen.items.iter().all(|letter| letter.sent_at.is_some()), "{seen:?}");
    // A look hides nothing.
    assert_eq!(letters.look(10).await.unwrap().items.len(), 3);
}

#[tokio::test]
#[ignore = "it needs an SQS: tests/actions/run starts one"]
async fn some_dead_letters_are_sent_again_or_deleted() {
    let queues = Queues::with_dead(&BODIES).await;
    let letters = queues.letters();
    let one = queues.ids_of(&BODIES[..1]).await;
    let done = letters.redrive(&one).await.unwrap();
    assert_eq!((done.count, done.not_found.len()), (1, 0));
    assert_eq!(queues.receive(&queues.queue).await, BODIES[..1]);

    // What was received on the way is hidden for half a minute.
    let queues = Queues::with_dead(&BODIES).await;
    let letters = queues.letters();
    let done = letters.delete(&queues.ids_of(&BODIES).await).await.unwrap();
    assert_eq!((done.count, done.not_found.len()), (3, 0));
    assert_eq!(letters.count().await.unwrap(), Some(0));
    let unknown = ChosenLetters::Ids(vec!["no-such-id".to_owned()]);
    let done = letters.delete(&unknown).await.unwrap();
    assert_eq!((done.count, done.not_found), (0, vec!["no-such-id".to_owned()]));
}

#[tokio::test]
#[ignore = "it needs an SQS: tests/actions/run starts one"]
async fn all_dead_letters_are_deleted() {
    // The emulator does not know the call that sends all of them again.
    let queues = Queues::with_dead(&BODIES).await;
    assert_eq!(queues.letters().delete(&ChosenLetters::All).await.unwrap().count, 3);
    assert_eq!(queues.letters().count().await.unwrap(), Some(0));
}

/// SQS as a back end of the suite.
struct Sqs;

struct OpenedSqs {
    queues: Queues,
    sender: SqsQueue,
    letters: SqsDeadLetters,
}

#[async_trait]
impl QueueBackEnd for Sqs {
    fn name(&self) -> &'static str {
        "SQS"
    }

    async fn open(&self, _test: &str) -> Arc<dyn OpenedQueue> {
        let queues = Queues::new().await;
        Arc::new(OpenedSqs { sender: queues.sender(), letters: queues.letters(), queues })
    }
}

#[async_trait]
impl OpenedQueue for OpenedSqs {
    fn queue(&self) -> &dyn DispatchQueue {
        &self.sender
    }

    async fn arrived(&self) -> Vec<WorkItem> {
        let Queues { client, queue, .. } = &self.queues;
        let mut arrived = Vec::new();
        loop {
            let receive = client.receive_message().queue_url(queue).max_number_of_messages(10);
            let found = receive.send().await.unwrap().messages.unwrap_or_default();
            if found.is_empty() {
                return arrived;
            }
            for message in found {
                let delete = client.delete_message().queue_url(queue);
                let delete = delete.receipt_handle(message.receipt_handle().unwrap());
                delete.send().await.unwrap();
                arrived.extend(decode(message.body().unwrap()).unwrap());
            }
        }
    }

    fn deliveries(&self) -> Option<&dyn Deliveries> {
        None
    }

    fn dead_letters(&self) -> &dyn DeadLetters {
        &self.letters
    }

    fn advance(&self, by: TimeDelta) {
        panic!("the clock of SQS cannot be moved by {by}");
    }
}

#[tokio::test]
#[ignore = "it needs an SQS: tests/actions/run starts one"]
async fn messages_are_sent_as_the_services_rely_on_it() {
    for behaviour in queue_behaviours() {
        check_queue(&Sqs, (behaviour.group, behaviour.name)).await;
    }
}
