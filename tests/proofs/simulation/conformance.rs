//! The store in memory as a back end of `minutehand_testkit::conformance`: what is simulated does what
//! the services rely on.

use std::sync::Arc;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use minutehand_ports::{CloudServices, Installation};
use minutehand_testkit::conformance::{BackEnd, OpenedStore, SpoiledRow, StorePorts};
use minutehand_testkit::services::Unused;

use super::memory::Memory;
use super::time::Time;
use super::why::Reader;

minutehand_testkit::conformance!(crate::simulation::conformance::Simulated);

/// The store of the simulation, with an index that follows at once.
struct Simulated;

struct OpenedMemory(Arc<Memory>);

#[async_trait]
impl BackEnd for Simulated {
    fn name(&self) -> &'static str {
        "simulation"
    }

    async fn open(&self, _test: &str) -> Arc<dyn OpenedStore> {
        Arc::new(OpenedMemory(Memory::new(&Time::of(0), None, false)))
    }
}

#[async_trait]
impl OpenedStore for OpenedMemory {
    fn ports(&self) -> StorePorts {
        StorePorts {
            store: self.0.clone(),
            browse: Arc::new(Reader::new(&self.0)),
            cloud_services: Arc::new(Unused::<dyn CloudServices>::default()),
            installation: Arc::new(Unused::<dyn Installation>::default()),
            pings: self.0.clone(),
            signs: Some(self.0.clone()),
            brakes: Some(self.0.clone()),
            hanging: Some(self.0.clone()),
        }
    }

    async fn spoil(&self, row: SpoiledRow<'_>) {
        panic!("a row in memory is a value, which cannot be unreadable: {row:?}");
    }

    async fn remove_expired(&self, now: DateTime<Utc>) {
        self.0.remove_expired(now);
    }

    async fn close(&self) {}
}
