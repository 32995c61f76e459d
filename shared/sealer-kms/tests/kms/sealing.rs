//! The requests to KMS, their number, and the meaning of its errors.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::TimeDelta;
use minutehand_ports::store::StoreError;
use minutehand_ports::{DataKeys, SealError, Sealer};
use minutehand_sealer_kms::KmsSealer;
use minutehand_testkit::aws::{AwsAnswer, AwsCall, FakeAws};
use minutehand_testkit::{ManualClock, fake_client};
use serde_json::json;

/// 32 bytes of ones, in Base64.
const KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

/// Answers like a KMS that has one data key.
fn kms(call: &AwsCall) -> AwsAnswer {
    assert_eq!(call.body["KeyId"], "key-1");
    assert_eq!(call.body["EncryptionContext"], json!({"minutehand": "secrets"}));
    match call.action.as_str() {
        "GenerateDataKey" => {
            assert_eq!(call.body["KeySpec"], "AES_256");
            AwsAnswer::Done(
                json!({"KeyId": "key-1", "Plaintext": KEY, "CiphertextBlob": "c2VhbGVk"}),
            )
        }
        "Decrypt" if call.body["CiphertextBlob"] == "c2VhbGVk" => {
            AwsAnswer::Done(json!({"KeyId": "key-1", "Plaintext": KEY}))
        }
        "Decrypt" => AwsAnswer::Failed(400, "InvalidCiphertextException"),
        other => panic!("{other}"),
    }
}

fn sealer(aws: &FakeAws) -> KmsSealer {
    KmsSealer::new(fake_client!(aws_sdk_kms, aws), "key-1")
}

fn actions(aws: &FakeAws) -> Vec<String> {
    aws.calls().into_iter().map(|call| call.action).collect()
}

#[tokio::test]
async fn a_process_asks_for_one_key_and_another_process_opens_its_secrets() {
    let aws = FakeAws::new(kms);
    let api = sealer(&aws);
    let sealed = api.seal("job-1", "hunter2").await.unwrap();
    let other = api.seal("job-2", "hunter2").await.unwrap();
    assert_eq!(api.open("job-1", &sealed).await.unwrap(), "hunter2");
    assert_eq!(actions(&aws), ["GenerateDataKey"]);
    assert!(!sealed.windows(7).any(|window| window == b"hunter2"));

    let executor = sealer(&aws);
    assert_eq!(executor.open("job-1", &sealed).await.unwrap(), "hunter2");
    assert_eq!(executor.open("job-2", &other).await.unwrap(), "hunter2");
    assert_eq!(actions(&aws), ["GenerateDataKey", "Decrypt"]);
}

#[tokio::test]
async fn a_secret_of_one_job_does_not_open_for_another() {
    let aws = FakeAws::new(kms);
    let ours = sealer(&aws);
    let sealed = ours.seal("job-1", "s").await.unwrap();
    assert!(matches!(ours.open("job-2", &sealed).await, Err(SealError::NotOurs)));
}

#[tokio::test]
async fn a_cut_or_changed_text_does_not_open() {
    let aws = FakeAws::new(kms);
    let ours = sealer(&aws);
    let sealed = ours.seal("job-1", "secret").await.unwrap();
    for length in 0..sealed.len() {
        let cut = ours.open("job-1", &sealed[..length]).await;
        assert!(matches!(cut, Err(SealError::NotOurs)), "cut at {length}: {cut:?}");
    }
    for place in 0..sealed.len() {
        let mut changed = sealed.clone();
        changed[place] ^= 1;
        let changed = ours.open("job-1", &changed).await;
        assert!(matches!(changed, Err(SealError::NotOurs)), "changed at {place}: {changed:?}");
    }
}

#[tokio::test]
async fn a_failure_of_kms_is_reported_and_the_next_call_asks_again() {
    let is_down = Arc::new(Mutex::new(true));
    let down = is_down.clone();
    let aws = FakeAws::new(move |call| {
        if *down.lock().unwrap() {
            AwsAnswer::Failed(400, "ThrottlingException")
        } else {
            kms(call)
        }
    });
    let ours = sealer(&aws);
    assert!(matches!(ours.seal("job-1", "s").await, Err(SealError::NoKey(_))));
    *is_down.lock().unwrap() = false;
    let sealed = ours.seal("job-1", "s").await.unwrap();

    let executor = sealer(&aws);
    *is_down.lock().unwrap() = true;
    assert!(matches!(executor.open("job-1", &sealed).await, Err(SealError::NoKey(_))));
    *is_down.lock().unwrap() = false;
    assert_eq!(executor.open("job-1", &sealed).await.unwrap(), "s");
}

#[tokio::test]
async fn a_refusal_of_kms_means_that_the_key_is_unavailable() {
    for (status, code) in
        [(400, "AccessDeniedException"), (400, "DisabledException"), (500, "KMSInternalException")]
    {
        let aws = FakeAws::in_turn([AwsAnswer::Failed(status, code)]);
        let error = sealer(&aws).seal("job-1", "s").await.unwrap_err();
        assert!(matches!(error, SealError::NoKey(_)), "{code}: {error:?}");
    }
    let aws = FakeAws::in_turn([AwsAnswer::Silence]);
    assert!(matches!(sealer(&aws).seal("job-1", "s").await, Err(SealError::NoKey(_))));
}

/// Keys that are kept, by name.
#[derive(Default)]
struct Kept(Mutex<std::collections::BTreeMap<String, Vec<u8>>>);

#[async_trait]
impl DataKeys for Kept {
    async fn kept(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    async fn keep(&self, name: &str, encrypted: &[u8]) -> Result<bool, StoreError> {
        let mut kept = self.0.lock().unwrap();
        let is_new = !kept.contains_key(name);
        kept.entry(name.to_owned()).or_insert_with(|| encrypted.to_vec());
        Ok(is_new)
    }
}

#[tokio::test]
async fn processes_share_the_key_of_a_month() {
    let aws = FakeAws::new(kms);
    let kept = Arc::new(Kept::default());
    let clock = Arc::new(ManualClock::at("2026-11-30T23:59:00Z".parse().unwrap()));
    let process = || sealer(&aws).sharing(kept.clone(), clock.clone());
    let (one, other) = (process(), process());
    let first = one.seal("job-1", "hunter2").await.unwrap();
    let second = other.seal("job-2", "hunter2").await.unwrap();
    assert_eq!(actions(&aws), ["GenerateDataKey", "Decrypt"]);

    // Neither asks again in this month, and an executor asks once for both secrets.
    one.seal("job-3", "s").await.unwrap();
    let executor = sealer(&aws);
    assert_eq!(executor.open("job-1", &first).await.unwrap(), "hunter2");
    assert_eq!(executor.open("job-2", &second).await.unwrap(), "hunter2");
    assert_eq!(actions(&aws).len(), 3);

    clock.advance(TimeDelta::minutes(1));
    one.seal("job-4", "s").await.unwrap();
    assert_eq!(actions(&aws).last().unwrap(), "GenerateDataKey");
    let names: Vec<String> = kept.0.lock().unwrap().keys().cloned().collect();
    assert_eq!(names, ["data-2026-11", "data-2026-12"]);
}

#[tokio::test]
async fn a_kept_key_of_another_key_of_kms_is_not_used() {
    let aws = FakeAws::new(kms);
    let kept = Arc::new(Kept::default());
    let clock = Arc::new(ManualClock::at("2026-11-30T00:00:00Z".parse().unwrap()));
    kept.keep("data-2026-11", b"other").await.unwrap();
    let ours = sealer(&aws).sharing(kept, clock);
    let sealed = ours.seal("job-1", "s").await.unwrap();
    assert_eq!(ours.open("job-1", &sealed).await.unwrap(), "s");
    assert_eq!(actions(&aws), ["Decrypt", "GenerateDataKey", "Decrypt"]);
}
