//! The actions for services of Azure: Storage queues and Service Bus.

mod envelope;
mod service_bus;
mod storage;

pub(crate) use service_bus::{AmqpSender, ServiceBusSender};
pub(crate) use storage::StorageQueueSender;
