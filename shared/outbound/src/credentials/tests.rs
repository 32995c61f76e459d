use std::collections::HashMap;
use std::fs;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

const START: SystemTime = SystemTime::UNIX_EPOCH;

/// A provider in an environment with these variables, and a home if there is one.
fn provider(
    variables: &[(&str, &str)],
    home: Option<&std::path::Path>,
) -> Result<Provider, String> {
    let variables: HashMap<String, String> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let variable = |name: &str| variables.get(name).cloned();
    let environment = AwsEnvironment { variable: &variable, home: home.map(Into::into) };
    Provider::new(&environment).map_err(|error| error.to_string())
}

/// A service that gives these answers, each on a connection of its own, and the requests that it got: the
/// first line, headers in small letters, and the body.
async fn service(answers: &[(&str, String)]) -> (String, JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answers: Vec<(String, String)> =
        answers.iter().map(|(status, body)| ((*status).to_owned(), body.clone())).collect();
    let served = tokio::spawn(async move {
        let mut requests = Vec::new();
        for (status, body) in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let small = head.to_lowercase();
            let length = small.lines().find_map(|line| line.strip_prefix("content-length: "));
            let mut sent = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            stream.read_exact(&mut sent).await.unwrap();
            requests.push(head + std::str::from_utf8(&sent).unwrap());
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        requests
    });
    (url, served)
}

fn json(id: &str, expiration: &str) -> String {
    format!(
        r#"{{"Code":"Success","AccessKeyId":"{id}","SecretAccessKey":"hunter2","Token":"t","Expiration":"{expiration}"}}"#
    )
}

fn ok(body: impl Into<String>) -> (&'static str, String) {
    ("200 OK", body.into())
}

const HOUR: &str = "1970-01-01T01:00:00Z";

#[test]
fn the_first_source_that_is_there_counts() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join(".aws")).unwrap();
    let credentials = "[default]\naws_access_key_id = a\naws_secret_access_key = b\n";
    fs::write(dir.path().join(".aws/credentials"), credentials).unwrap();
    let keys = [("AWS_ACCESS_KEY_ID", "i"), ("AWS_SECRET_ACCESS_KEY", "s")];
    let identity = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
        ("AWS_ROLE_ARN", "arn"),
        ("AWS_REGION", "eu-west-1"),
    ];
    let container = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/x")];
    let all: Vec<_> = [&keys[..], &identity, &container].concat();
    let home = Some(dir.path());
    let kind =
        |variables: &[(&str, &str)], home| format!("{:?}", provider(variables, home).unwrap());
    assert_eq!(kind(&all, home), "Provider(Keys)");
    assert_eq!(kind(&all[2..], home), "Provider(WebIdentity)");
    assert_eq!(kind(&container, home), "Provider(Profile)");
    assert_eq!(kind(&container, None), "Provider(Container)");
    assert_eq!(kind(&[], None), "Provider(Machine)");
    // A default profile without keys, as `aws configure set region` leaves it, is none.
    fs::write(dir.path().join(".aws/credentials"), "").unwrap();
    fs::write(dir.path().join(".aws/config"), "[default]\nregion = eu-west-1\n").unwrap();
    assert_eq!(kind(&container, home), "Provider(Container)");
}

#[test]
fn what_is_incomplete_is_said_with_what_to_do() {
    for (variables, says) in [
        (
            &[("AWS_ACCESS_KEY_ID", "i")][..],
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY together, or neither",
        ),
        (&[("AWS_WEB_IDENTITY_TOKEN_FILE", "/t")], "set AWS_ROLE_ARN, too"),
        (&[("AWS_WEB_IDENTITY_TOKEN_FILE", "/t"), ("AWS_ROLE_ARN", "a")], "set AWS_REGION"),
        (&[("AWS_PROFILE", "prod")], "HOME is not set"),
        (
            &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/c")],
            "only https, or a host of ECS, of EKS or on this machine",
        ),
        (&[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "none")], "relative URL without a base"),
        (&[("AWS_EC2_METADATA_DISABLED", "TRUE")], "set AWS_ACCESS_KEY_ID"),
        (&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", "ftp://x")], "not an http URL"),
    ] {
        let error = provider(variables, None).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
    // An empty variable is none.
    let empty = [("AWS_ACCESS_KEY_ID", ""), ("AWS_PROFILE", "")];
    assert_eq!(format!("{:?}", provider(&empty, None).unwrap()), "Provider(Machine)");
}

#[tokio::test]
async fn a_profile_is_read_from_both_files_as_they_are_now() {
    let dir = tempfile::tempdir().unwrap();
    let (credentials, config) = (dir.path().join("c"), dir.path().join("f"));
    fs::write(
        &config,
        "[profile prod]\nregion = x\naws_session_token = t # of today\n  aws_access_key_id = nested\n\
         [profile other]\ncredential_process = /bin/x\n",
    )
    .unwrap();
    fs::write(&credentials, "[prod]\n; no\nAWS_ACCESS_KEY_ID=one\naws_secret_access_key=s=s\n")
        .unwrap();
    let (credentials_path, config_path) = (credentials.to_str().unwrap(), config.to_str().unwrap());
    let variables = |name| {
        [
            ("AWS_PROFILE", name),
            ("AWS_SHARED_CREDENTIALS_FILE", credentials_path),
            ("AWS_CONFIG_FILE", config_path),
        ]
    };
    let prod = provider(&variables("prod"), None).unwrap();
    let found = prod.credentials(START).await.unwrap();
    assert_eq!((found.access_key_id(), found.secret_access_key()), ("one", "s=s"));
    assert_eq!(found.session_token(), Some("t"));
    fs::write(&credentials, "[prod]\naws_access_key_id=two\naws_secret_access_key=s\n").unwrap();
    assert_eq!(prod.credentials(START).await.unwrap().access_key_id(), "one");
    let later = prod.credentials(START + CACHE_TIME).await.unwrap();
    assert_eq!(later.access_key_id(), "two");

    let other = provider(&variables("other"), None).unwrap_err();
    assert!(
        other.contains("credential_process") && other.contains("export-credentials"),
        "{other}"
    );
    let none = provider(&variables("none"), None).unwrap_err();
    assert!(none.contains("names 'none'") && none.contains(credentials_path), "{none}");
}

#[tokio::test]
async fn the_role_of_a_machine_is_asked_with_a_token_and_kept_until_shortly_before_its_end() {
    let first = [ok("TOKEN"), ok("app\n"), ok(json("one", HOUR))];
    let second = [ok("TOKEN"), ok("app"), ok(json("two", "1970-01-01T02:00:00Z"))];
    let (url, served) = service(&[first, second].concat()).await;
    let machine = provider(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)], None).unwrap();
    let found = machine.credentials(START).await.unwrap();
    assert_eq!((found.access_key_id(), found.session_token()), ("one", Some("t")));
    let end = START + Duration::from_hours(1);
    let kept = machine.credentials(end - EXPIRY_MARGIN - Duration::from_secs(1)).await.unwrap();
    assert_eq!(kept.access_key_id(), "one");
    let again = machine.credentials(end - EXPIRY_MARGIN).await.unwrap();
    assert_eq!(again.access_key_id(), "two");
    let requests = served.await.unwrap();
    assert!(requests[0].starts_with("PUT /latest/api/token "), "{}", requests[0]);
    assert!(requests[0].contains("x-aws-ec2-metadata-token-ttl-seconds: 60"), "{}", requests[0]);
    let path = "GET /latest/meta-data/iam/security-credentials/";
    assert!(requests[1].starts_with(&format!("{path} ")), "{}", requests[1]);
    assert!(requests[2].starts_with(&format!("{path}app ")), "{}", requests[2]);
    assert!(requests[2].contains("x-aws-ec2-metadata-token: TOKEN"), "{}", requests[2]);
    assert!(!format!("{machine:?}{found:?}").contains("hunter2"));
}

#[tokio::test]
async fn libraries_of_aws_get_the_same_and_the_reason_why_not() {
    let now = || DateTime::UNIX_EPOCH;
    let keys = [("AWS_ACCESS_KEY_ID", "i"), ("AWS_SECRET_ACCESS_KEY", "hunter2")];
    let shared = provider(&keys, None).unwrap().shared(now);
    assert_eq!(shared.provide_credentials().await.unwrap().access_key_id(), "i");
    assert!(!format!("{shared:?}").contains("hunter2"), "{shared:?}");
    let (url, _served) = service(&[("403 Forbidden", String::new())]).await;
    let machine = provider(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)], None).unwrap();
    let error = machine.shared(now).provide_credentials().await.unwrap_err();
    let why = std::error::Error::source(&error).unwrap().to_string();
    assert!(why.contains("answered 403"), "{why}");
}

#[tokio::test]
async fn credentials_that_are_still_valid_are_used_on_while_their_source_fails() {
    let refused = ("403 Forbidden", String::new());
    let answers = [ok("TOKEN"), ok("app"), ok(json("one", HOUR)), refused.clone(), refused.clone()];
    let (url, served) = service(&answers).await;
    let machine = provider(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)], None).unwrap();
    machine.credentials(START).await.unwrap();
    let end = START + Duration::from_hours(1);
    let late = end - Duration::from_mins(1);
    for at in [late, late + AGAIN_AFTER - Duration::from_secs(1)] {
        assert_eq!(machine.credentials(at).await.unwrap().access_key_id(), "one");
    }
    let over = machine.credentials(end).await.unwrap_err().to_string();
    assert!(over.contains("answered 403"), "{over}");
    assert_eq!(served.await.unwrap().len(), answers.len());
}

#[tokio::test]
async fn a_machine_without_a_role_and_no_machine_at_all_say_what_to_do() {
    let none = [ok("TOKEN"), ("404 Not Found", String::new())];
    let (url, _served) = service(&none).await;
    let machine = provider(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)], None).unwrap();
    let error = machine.credentials(START).await.unwrap_err().to_string();
    assert!(error.contains("the machine has no role: give the machine a role"), "{error}");

    // Nothing listens there any more.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let machine = provider(&[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)], None).unwrap();
    let error = machine.credentials(START).await.unwrap_err().to_string();
    assert!(error.contains("does not answer") && error.contains("AWS_PROFILE"), "{error}");
}

#[tokio::test]
async fn a_container_is_asked_with_its_token_and_a_busy_service_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    fs::write(&file, "from-file\n").unwrap();
    for (name, value, sent) in [
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "given", "authorization: given"),
        (
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
            file.to_str().unwrap(),
            "authorization: from-file",
        ),
    ] {
        let busy = ("503 Busy", String::new());
        let (url, served) = service(&[busy, ok(json("one", HOUR))]).await;
        let url = format!("{url}/v1/credentials");
        let variables = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", &*url), (name, value)];
        let container = provider(&variables, None).unwrap();
        let found = container.credentials(START).await.unwrap();
        assert_eq!(found.access_key_id(), "one");
        let requests = served.await.unwrap();
        assert!(requests[1].starts_with("GET /v1/credentials "), "{}", requests[1]);
        assert!(requests[1].contains(sent), "{}", requests[1]);
    }
}

#[tokio::test]
async fn a_workload_assumes_its_role_with_the_token_as_it_is_now() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("token");
    fs::write(&file, "jwt+1\n").unwrap();
    let answer = "<R><Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>a/b</SecretAccessKey>\
                  <SessionToken>t=</SessionToken><Expiration>1970-01-01T01:00:00Z</Expiration>\
                  </Credentials></R>";
    let refused = "<E><Error><Code>ExpiredTokenException</Code></Error></E>".to_owned();
    let (url, served) = service(&[ok(answer), ("400 Bad Request", refused)]).await;
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", file.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/app"),
        ("AWS_ENDPOINT_URL_STS", &*url),
    ];
    let found = provider(&variables, None).unwrap().credentials(START).await.unwrap();
    assert_eq!((found.access_key_id(), found.session_token()), ("ASIA", Some("t=")));
    assert_eq!(found.expiry(), Some(START + Duration::from_hours(1)));
    let error = provider(&variables, None).unwrap().credentials(START).await.unwrap_err();
    assert!(error.to_string().contains("ExpiredTokenException"), "{error}");
    let requests = served.await.unwrap();
    assert!(requests[0].contains("Action=AssumeRoleWithWebIdentity"), "{}", requests[0]);
    assert!(requests[0].ends_with("&WebIdentityToken=jwt%2B1"), "{}", requests[0]);
}

#[test]
fn answers_without_credentials_are_refused() {
    for (body, says) in [
        (r#"{"Code":"AssumeRoleUnauthorizedAccess"}"#, "AssumeRoleUnauthorizedAccess"),
        ("<html>", "without credentials"),
        (r#"{"AccessKeyId":"i"}"#, "without credentials"),
        (&json("i", "tomorrow"), "not a time"),
    ] {
        let error = in_json(body.as_bytes(), "service").unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
