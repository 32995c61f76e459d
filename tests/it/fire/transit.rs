//! A queue that a test can look into: it delivers in the order of time, what comes back comes back,
//! and a test may ask for everything twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use minutehand_app::fire::DeliveryPlace;
use minutehand_domain::work_item::{WorkItem, decode_one, deliveries_before, encode};
use minutehand_ports::{DispatchQueue, QueueError, QueueMessage, ReceiptHandle};

use super::store::{Fails, Trouble};

/// By when it can be delivered, then by when it was sent.
type Parcels = BTreeMap<(DateTime<Utc>, u64), Parcel>;

#[derive(Debug, Clone)]
pub(super) struct Parcel {
    pub(super) text: String,
    /// How often it was delivered.
    pub(super) receives: u32,
    /// Its delivery, if the worker may delete it together with what follows its attempt.
    pub(super) receipt: Option<ReceiptHandle>,
}

pub(super) struct Transit {
    parcels: Mutex<(u64, Parcels)>,
    trouble: Arc<Trouble>,
}

impl Transit {
    pub(super) fn new(trouble: Arc<Trouble>) -> Self {
        Self { parcels: Mutex::default(), trouble }
    }

    /// When the next message can be delivered.
    pub(super) fn next_at(&self) -> Option<DateTime<Utc>> {
        self.parcels.lock().unwrap().1.first_key_value().map(|((at, _), _)| *at)
    }

    pub(super) fn take(&self) -> Option<Parcel> {
        self.parcels.lock().unwrap().1.pop_first().map(|(_, parcel)| parcel)
    }

    pub(super) fn put(&self, at: DateTime<Utc>, parcel: Parcel) {
        let mut parcels = self.parcels.lock().unwrap();
        parcels.0 += 1;
        let number = parcels.0;
        parcels.1.insert((at, number), parcel);
    }

    pub(super) fn len(&self) -> usize {
        self.parcels.lock().unwrap().1.len()
    }
}

impl Parcel {
    /// How often it was delivered, and the messages that it replaces.
    pub(super) fn deliveries(&self) -> u32 {
        self.receives + deliveries_before(&self.text)
    }

    pub(super) fn work_item(&self) -> WorkItem {
        decode_one(&self.text).unwrap()
    }
}

/// A place of its own, of which there are enough.
impl DeliveryPlace for Parcel {
    fn is_scarce(&self) -> bool {
        false
    }

    fn try_origin(&self, _: &str) -> bool {
        true
    }

    fn set_origin(&self, _: &str) {}

    fn receipt(&self) -> Option<ReceiptHandle> {
        self.receipt
    }
}

#[async_trait]
impl DispatchQueue for Transit {
    async fn send(&self, messages: &[QueueMessage], now: DateTime<Utc>) -> Result<(), QueueError> {
        let fails = self.trouble.of_this_call();
        if fails != Some(Fails::Before) {
            for QueueMessage { work_item, due_at } in messages {
                // A message may be delayed by whole seconds, and by fifteen minutes.
                assert!(
                    *due_at <= now + TimeDelta::minutes(15),
                    "it is too far away for a message"
                );
                let delay = (*due_at - now).max(TimeDelta::zero());
                let delay = TimeDelta::seconds(delay.num_seconds());
                self.put(
                    now + delay,
                    Parcel { text: encode(work_item), receives: 0, receipt: None },
                );
            }
        }
        match fails {
            None => Ok(()),
            Some(_) => Err(QueueError::Unavailable("as the test asked for".into())),
        }
    }
}

/// The first full minute at or after an instant.
pub(super) fn full_minute(at: DateTime<Utc>) -> DateTime<Utc> {
    let minutes = at.timestamp_micros().div_euclid(60_000_000);
    let cut = DateTime::from_timestamp_micros(minutes * 60_000_000).unwrap();
    if cut == at { at } else { cut + TimeDelta::minutes(1) }
}
