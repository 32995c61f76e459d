//! Messages to queues and topics, which are not sent yet.
//!
//! The failures have the form in which clients look for the names: the queue or topic in the first
//! quotes, then the account or namespace.

use domain::action::{ServiceBus, StorageQueue};
use domain::execution::Outcome;
use ports::Sent;

/// A message for a Storage queue.
pub(crate) fn storage(StorageQueue { queue, account, .. }: &StorageQueue) -> Sent {
    failed(format!(
        "StorageQueue Action - The queue '{queue}' of the account '{account}' was not reached: this \
         type of action is not supported yet."
    ))
}

/// A message for a queue or topic of Service Bus.
pub(crate) fn service_bus(kind: &str, ServiceBus { entity, namespace, .. }: &ServiceBus) -> Sent {
    let lower = kind.to_ascii_lowercase();
    failed(format!(
        "ServiceBus{kind} Action - Not supported yet: the {lower} '{entity}' of the namespace \
         '{namespace}' was not reached."
    ))
}

const fn failed(message: String) -> Sent {
    Sent { outcome: Outcome::Failed, message }
}
