//! Actions that send messages: hosts, allowed addresses and time limits.

use std::time::Duration;

use minutehand_actions::{ActionSettings, Actions, Aws, Endpoint, Roots, SendLimits, TargetPolicy};
use minutehand_domain::action::{
    Lambda, MessageFormat, ServiceBus, Sns, Sqs, StorageQueue, Target, Transport,
};
use minutehand_domain::arn::Arn;
use minutehand_domain::own::OwnResources;
use minutehand_domain::secret::Secret;
use minutehand_ports::{ActionOutcome, ActionSender as _};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::authority::Authority;
use crate::sender::{Names, context, failed, settings, succeeded};
use crate::server::{Reply, Seen, Server, reply};

fn storage_queue() -> Target {
    Target::StorageQueue(StorageQueue {
        account: "Contoso".to_owned(),
        queue: "orders".to_owned(),
        sas_token: Secret::new("?sv=2025-01-05&sig=Planted%2BSecret%3D"),
        message: "text".to_owned(),
        format: Some(MessageFormat::Raw),
    })
}

fn service_bus(transport: Transport) -> Target {
    Target::ServiceBusQueue(ServiceBus {
        entity: "orders".to_owned(),
        namespace: "contoso".to_owned(),
        transport: Some(transport),
        key_name: "send".to_owned(),
        key: Secret::new("Planted-Key"),
        message: "text".to_owned(),
        format: Some(MessageFormat::Raw),
        brokered: None,
        custom: None,
    })
}

fn names() -> std::sync::Arc<Names> {
    Names::new([
        ("contoso.queue.storage.test", &["127.0.0.1"]),
        ("contoso.bus.test", &["127.0.0.1"]),
        ("contoso.queue.metadata.test", &["169.254.169.254"]),
        ("contoso.metadata.test", &["169.254.169.254"]),
    ])
}

async fn send(settings: &ActionSettings, target: &Target) -> ActionOutcome {
    Actions::with_resolver(settings, names()).unwrap().send(target, &context()).await.unwrap()
}

/// Settings for services below a suffix, which reach a server with a certificate of the authority.
fn below_suffix(authority: &Authority, server: &Server) -> ActionSettings {
    let port = server.address.port();
    ActionSettings {
        roots: Roots { system: false, extra_pem: authority.pem() },
        storage: Endpoint::http(&format!("storage.test:{port}")).unwrap(),
        service_bus: Endpoint::http(&format!("bus.test:{port}")).unwrap(),
        service_bus_amqp: Some(Endpoint::amqp(&format!("bus.test:{port}")).unwrap()),
        ..settings()
    }
}

#[tokio::test]
async fn accounts_and_namespaces_are_hosts_below_a_suffix() {
    let authority = Authority::new("here");
    let accept = |_: &_| reply("201 Created", "", "");
    let server =
        Server::start_tls(authority.server("contoso.queue.storage.test", 2100), accept).await;
    succeeded(send(&below_suffix(&authority, &server), &storage_queue()).await);
    let seen = server.only();
    assert_eq!(seen.path(), "/orders/messages?sv=2025-01-05&sig=Planted%2BSecret%3D");
    let host = format!("contoso.queue.storage.test:{}", server.address.port());
    assert_eq!(seen.header("host"), Some(host));
    assert_eq!(seen.body, "<QueueMessage><MessageText>text</MessageText></QueueMessage>");

    let server = Server::start_tls(authority.server("contoso.bus.test", 2100), accept).await;
    let settings = below_suffix(&authority, &server);
    succeeded(send(&settings, &service_bus(Transport::NetMessaging)).await);
    let seen = server.only();
    assert_eq!((seen.path(), seen.body.as_str()), ("/orders/messages", "text"));
    let port = server.address.port();
    let resource = format!("sr=https%3A%2F%2Fcontoso.bus.test%3A{port}%2Forders&sig=");
    assert!(seen.header("authorization").unwrap().contains(&resource));
    assert_eq!(seen.header("brokerproperties").unwrap(), r#"{"MessageId":"u1/3.600000000.m0"}"#);
}

#[tokio::test]
async fn a_server_needs_a_certificate_for_its_name() {
    let authority = Authority::new("here");
    let server =
        Server::start_tls(authority.server("other.test", 2100), |_| reply("201 Created", "", ""))
            .await;
    let settings = below_suffix(&authority, &server);
    for target in
        [storage_queue(), service_bus(Transport::NetMessaging), service_bus(Transport::Amqp)]
    {
        let message = failed(send(&settings, &target).await);
        assert!(message.contains("failed: TrustFailure "), "{message}");
        assert!(message.ends_with("The certificate is for another name."), "{message}");
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn forbidden_addresses_are_refused_over_every_transport() {
    let authority = Authority::new("here");
    let server = Server::start(|_| reply("201 Created", "", "")).await;
    let public =
        ActionSettings { targets: TargetPolicy::PublicOnly, ..below_suffix(&authority, &server) };
    let metadata = ActionSettings {
        storage: Endpoint::http("metadata.test").unwrap(),
        service_bus: Endpoint::http("metadata.test").unwrap(),
        ..settings()
    };
    for target in
        [storage_queue(), service_bus(Transport::NetMessaging), service_bus(Transport::Amqp)]
    {
        let message = failed(send(&public, &target).await);
        assert!(message.contains("failed: RequestCanceled The target '"), "{message}");
        assert!(message.contains("--allow-private-targets"), "{message}");
        let message = failed(send(&metadata, &target).await);
        assert!(
            message.ends_with("which is never a target; give the job another address."),
            "{message}"
        );
    }
    assert_eq!(server.n_connections(), 0);
}

#[tokio::test]
async fn a_missing_account_or_namespace_is_named() {
    let nowhere = ActionSettings {
        storage: Endpoint::http("nowhere.test").unwrap(),
        service_bus: Endpoint::http("nowhere.test").unwrap(),
        ..settings()
    };
    assert_eq!(
        failed(send(&nowhere, &storage_queue()).await),
        "StorageQueue Action - The storage account 'Contoso' could not be found, and so not its queue \
         'orders': The remote name could not be resolved: 'contoso.queue.nowhere.test'"
    );
    for transport in [Transport::NotSpecified, Transport::Amqp] {
        assert_eq!(
            failed(send(&nowhere, &service_bus(transport)).await),
            "ServiceBusQueue Action - Failed: message to 'orders' in namespace 'contoso' failed: \
             NameResolutionFailure The remote name could not be resolved: 'contoso.nowhere.test'"
        );
    }
}

#[tokio::test]
async fn after_a_timeout_the_message_may_have_arrived() {
    let silent = Server::start(|_| Reply::Stall(String::new())).await;
    let settings = ActionSettings {
        limits: SendLimits { total: Duration::from_millis(300), ..settings().limits },
        storage: Endpoint::http(&silent.url("/")).unwrap(),
        service_bus: Endpoint::http(&silent.url("/")).unwrap(),
        service_bus_amqp: Some(Endpoint::amqp(&format!("amqp://{}", silent.address)).unwrap()),
        ..settings()
    };
    for target in
        [storage_queue(), service_bus(Transport::NetMessaging), service_bus(Transport::Amqp)]
    {
        let message = failed(send(&settings, &target).await);
        let expected = "failed: Timeout The operation has timed out; the limit is 0.3 seconds. \
                        Whether the message arrived is not known.";
        assert!(message.ends_with(expected), "{message}");
    }
}

#[tokio::test]
async fn a_server_without_amqp_fails_and_its_connection_is_not_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let served = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut greeting = [0; 8];
            stream.read_exact(&mut greeting).await.unwrap();
            // The protocol header of AMQP with SASL.
            assert_eq!(&greeting, b"AMQP\x03\x01\x00\x00");
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        }
    });
    let settings = ActionSettings {
        service_bus_amqp: Some(Endpoint::amqp(&format!("amqp://{address}")).unwrap()),
        ..settings()
    };
    let actions = Actions::new(&settings).unwrap();
    for _ in 0..2 {
        let target = service_bus(Transport::Amqp);
        let message = failed(actions.send(&target, &context()).await.unwrap());
        let expected = "ServiceBusQueue Action - Failed: message to 'orders' in namespace 'contoso' \
                        failed: ";
        assert!(message.starts_with(expected), "{message}");
        assert!(!message.contains("Planted"), "{message}");
    }
    served.await.unwrap();
}

#[tokio::test]
async fn secrets_in_the_answer_of_a_service_are_redacted() {
    let server = Server::start(|seen| {
        let echo = format!("{} {:?}", seen.path(), seen.header("authorization"));
        let xml = format!(
            "<Error><Code>Odd</Code><Message>{echo}</Message><Detail>{echo}</Detail></Error>"
        );
        reply("400 Bad Request", "", &xml)
    })
    .await;
    let settings = ActionSettings {
        storage: Endpoint::http(&server.url("/")).unwrap(),
        service_bus: Endpoint::http(&server.url("/")).unwrap(),
        ..settings()
    };
    let message = failed(send(&settings, &storage_queue()).await);
    assert!(
        message.contains("failed: BadRequest Odd /Contoso/orders/messages?[redacted]"),
        "{message}"
    );
    let message = failed(send(&settings, &service_bus(Transport::NetMessaging)).await);
    assert!(message.contains("[redacted]") && !message.contains("sig="), "{message}");
}

fn aws(endpoint: Option<&str>) -> ActionSettings {
    let endpoint = endpoint.map(|url| url.parse().unwrap());
    let token = Some("Planted-Token".to_owned());
    let aws = Aws::with_keys(endpoint, "eu-west-1", "AKIDEXAMPLE", "Planted-Secret", token);
    assert!(!format!("{aws:?}").contains("Planted"));
    ActionSettings { aws: Some(aws), ..settings() }
}

fn sqs(queue_url: &str) -> Target {
    Target::Sqs(Sqs {
        queue_url: queue_url.to_owned(),
        message: "text".to_owned(),
        attributes: None,
        group_id: None,
    })
}

#[tokio::test]
async fn requests_to_aws_are_signed_for_the_region_of_the_resource() {
    let server = Server::start(|seen| {
        let token = seen.header("x-amz-security-token").unwrap_or_default();
        let authorization = seen.header("authorization").unwrap_or_default();
        let message = format!("{token} {}", authorization.len());
        let error = json!({"__type": "odd#Odd", "message": message});
        reply("400 Bad Request", "", &error.to_string())
    })
    .await;
    let settings = aws(Some(&server.url("/")));
    let topic = Arn::read("arn:aws:sns:us-west-2:123456789012:t", "sns").unwrap();
    let sns =
        Sns { topic, message: "text".to_owned(), subject: None, attributes: None, group_id: None };
    let lambda = Lambda { function: "report:live".to_owned(), payload: None };
    for (target, path, scope) in [
        (sqs("https://sqs.ap-south-1.amazonaws.com/123456789012/q"), "/", "ap-south-1/sqs"),
        (sqs("http://127.0.0.1:4566/123456789012/q"), "/", "eu-west-1/sqs"),
        (Target::Sns(sns), "/", "us-west-2/sns"),
        (
            Target::Lambda(lambda),
            "/2015-03-31/functions/report%3Alive/invocations",
            "eu-west-1/lambda",
        ),
    ] {
        let message = failed(send(&settings, &target).await);
        assert!(message.contains(" failed: Odd [redacted] "), "{message}");
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.path(), path);
        let authorization = seen.header("authorization").unwrap();
        let expected =
            format!("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20160330/{scope}/aws4_request, ");
        assert!(authorization.starts_with(&expected), "{authorization}");
        assert!(authorization.contains(";host;x-amz-date;"), "{authorization}");
    }
}

#[tokio::test]
async fn a_queue_on_another_host_gets_no_signed_request() {
    let message = failed(send(&aws(None), &sqs("https://sqs.evil.test/123456789012/q")).await);
    assert!(
        message.contains("failed: RequestCanceled The queue's URL is not one of SQS"),
        "{message}"
    );
    let message = failed(send(&settings(), &sqs("https://sqs.evil.test/1/q")).await);
    assert!(message.contains("Access to AWS is not configured; see --aws, "), "{message}");
}

/// STS gives out one set of keys after the other.
fn sts_and_sqs(seen: &Seen) -> Reply {
    if seen.body.starts_with("Action=AssumeRole&") {
        let body = "<AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>Planted-Role-Secret\
                    </SecretAccessKey><SessionToken>Planted-Role-Token</SessionToken>";
        return reply("200 OK", "", body);
    }
    let token = seen.header("x-amz-security-token").unwrap_or_default();
    let error = json!({"__type": "odd#Odd", "message": token});
    reply("400 Bad Request", "", &error.to_string())
}

#[tokio::test]
async fn jobs_send_with_the_role_for_actions_which_is_assumed_once() {
    let server = Server::start(sts_and_sqs).await;
    let settings = aws(Some(&server.url("/")));
    let role = "arn:aws:iam::123456789012:role/actions";
    let in_role = settings.aws.clone().map(|aws| aws.in_role(role));
    let actions = Actions::new(&ActionSettings { aws: in_role, ..settings }).unwrap();
    let target = sqs("https://sqs.ap-south-1.amazonaws.com/123456789012/q");
    for _ in 0..2 {
        let message = failed(actions.send(&target, &context()).await.unwrap());
        assert!(message.contains(" failed: Odd [redacted]"), "{message}");
    }
    let seen = server.seen();
    let [assumed, sent, again] = seen.as_slice() else { panic!("{} requests", seen.len()) };
    assert_eq!(
        assumed.body,
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2F\
         actions&RoleSessionName=minutehand&DurationSeconds=3600"
    );
    for (request, key, scope) in [
        (assumed, "AKIDEXAMPLE", "eu-west-1/sts"),
        (sent, "ASIAROLE", "ap-south-1/sqs"),
        (again, "ASIAROLE", "ap-south-1/sqs"),
    ] {
        let authorization = request.header("authorization").unwrap();
        let expected = format!("AWS4-HMAC-SHA256 Credential={key}/20160330/{scope}/aws4_request, ");
        assert!(authorization.starts_with(&expected), "{authorization}");
    }
    assert_eq!(sent.header("x-amz-security-token"), Some("Planted-Role-Token".to_owned()));
}

#[tokio::test]
async fn a_role_that_cannot_be_assumed_is_named_and_nothing_is_sent() {
    let server = Server::start(|_| {
        let error = "<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message>\
                     </Error></ErrorResponse>";
        reply("403 Forbidden", "", error)
    })
    .await;
    let settings = aws(Some(&server.url("/")));
    let in_role = settings.aws.clone().map(|aws| aws.in_role("arn:aws:iam::1:role/actions"));
    let settings = ActionSettings { aws: in_role, ..settings };
    let message = failed(send(&settings, &sqs("https://sqs.eu-west-1.amazonaws.com/1/q")).await);
    assert!(
        message.ends_with(
            " failed: AccessDenied The role 'arn:aws:iam::1:role/actions' of actions cannot be \
             assumed: not you"
        ),
        "{message}"
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn nothing_is_sent_to_a_resource_of_the_scheduler_itself() {
    let server = Server::start(|_| reply("200 OK", "", "{}")).await;
    let mut own = OwnResources::default();
    assert!(own.add("arn:aws:sqs:eu-west-1:123456789012:work"));
    let settings = ActionSettings { own, ..aws(Some(&server.url("/"))) };
    let queue = "https://sqs.eu-west-1.amazonaws.com/123456789012/work";
    let message = failed(send(&settings, &sqs(queue)).await);
    assert!(
        message.ends_with(&format!(
            " failed: RequestCanceled The queue '{queue}' belongs to the scheduler itself, and no job \
             may send to it."
        )),
        "{message}"
    );
    assert!(server.seen().is_empty());
}
