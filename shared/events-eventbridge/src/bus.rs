//! The bus, and the events that wait to be put on it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_sdk_eventbridge::Client;
use aws_sdk_eventbridge::primitives::DateTime as AwsTime;
use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use minutehand_ports::{Clock, Event, EventSink};

use crate::SOURCE;
use crate::detail::{BusEvent, bus_event};

/// The most events of a request. Each is well below a kilobyte, and a request may have 256.
const BATCH_MAX: usize = 10;
/// How often a batch is put on the bus that accepts it only in part.
const TRIES_MAX: u32 = 3;
/// The pause before the second try; each further pause is twice as long.
const FIRST_BACKOFF: Duration = Duration::from_millis(100);
/// The most events that wait. Further events are counted and lost.
const WAITING_MAX: usize = 10_000;

/// A bus, and the events that wait to be put on it.
pub struct Bus {
    client: Client,
    name: String,
    clock: Arc<dyn Clock>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    events: Vec<BusEvent>,
    beyond: usize,
}

/// Events that the bus did not accept.
#[derive(Debug, thiserror::Error)]
#[error("{events} events could not be put on the bus: {why}")]
pub struct EventsLost {
    /// How many events are lost.
    pub events: usize,
    /// Why the last of them was not accepted.
    pub why: String,
}

impl EventSink for Bus {
    fn note(&self, event: Event<'_>) {
        let Some(event) = bus_event(event) else { return };
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.events.len() < WAITING_MAX {
            waiting.events.push(event);
        } else {
            waiting.beyond += 1;
        }
    }
}

impl Bus {
    /// The bus with this name or ARN.
    #[must_use]
    pub fn new(client: Client, name: impl Into<String>, clock: Arc<dyn Clock>) -> Self {
        Self { client, name: name.into(), clock, waiting: Mutex::default() }
    }

    /// Puts the waiting events on the bus.
    ///
    /// # Errors
    ///
    /// Returns an error if the bus did not accept some events, which are lost then.
    pub async fn flush(&self) -> Result<(), EventsLost> {
        let waiting =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let Waiting { mut events, beyond } = waiting;
        let mut lost =
            EventsLost { events: beyond, why: format!("more than {WAITING_MAX} waited") };
        while !events.is_empty() {
            let rest = events.split_off(events.len().min(BATCH_MAX));
            let batch = std::mem::replace(&mut events, rest);
            if let Err(batch) = self.put_batch(batch).await {
                lost = EventsLost { events: lost.events + batch.events, why: batch.why };
            }
        }
        if lost.events == 0 { Ok(()) } else { Err(lost) }
    }

    async fn put_batch(&self, mut left: Vec<BusEvent>) -> Result<(), EventsLost> {
        let mut backoff = FIRST_BACKOFF;
        for attempt in 1.. {
            // The SDK has already retried where that could help.
            let lost = |why| EventsLost { events: left.len(), why };
            let mut results = self.put_once(&left).await.map_err(lost)?.into_iter();
            let mut why = String::new();
            // An event that the answer does not mention was not accepted.
            left.retain(|_| match results.next() {
                Some(None) => false,
                Some(Some(code)) => {
                    why = code;
                    true
                }
                None => true,
            });
            if left.is_empty() {
                break;
            }
            if attempt == TRIES_MAX {
                return Err(EventsLost { events: left.len(), why });
            }
            self.clock.wait(backoff).await;
            backoff *= 2;
        }
        Ok(())
    }

    /// Puts events on the bus once. Returns for each, in order, `None` or the code of its error.
    async fn put_once(&self, events: &[BusEvent]) -> Result<Vec<Option<String>>, String> {
        let entries = events.iter().map(|event| {
            PutEventsRequestEntry::builder()
                .source(SOURCE)
                .detail_type(event.detail_type)
                .detail(event.detail.to_string())
                .event_bus_name(&self.name)
                .set_time(event.at.map(|at| AwsTime::from_millis(at.timestamp_millis())))
                .build()
        });
        let put = self.client.put_events().set_entries(Some(entries.collect())).send().await;
        let put = put.map_err(|error| {
            let service = error.as_service_error();
            let code = service.and_then(|error| error.meta().code()).map(str::to_owned);
            code.unwrap_or_else(|| error.to_string())
        })?;
        Ok(put.entries().iter().map(|entry| entry.error_code().map(str::to_owned)).collect())
    }
}
