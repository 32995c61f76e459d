//! The property `messageFormat` of messages for Azure.

use minutehand_recurrence::named;

use crate::json::Fields;
use crate::refusal::Refusal;

named! {
    /// The form in which a message is sent to an Azure queue or topic.
    pub enum MessageFormat {
        /// The form of the original: for a Storage queue an XML document that describes the execution,
        /// for Service Bus a string as .NET serializes it.
        Envelope = "envelope",
        /// The text of the job and nothing else.
        Raw = "raw",
    }
}

impl MessageFormat {
    pub(super) fn read(message: &Fields<'_>) -> Result<Option<Self>, Refusal> {
        message.one_of("messageFormat", Self::read_name, &Self::ALL.map(Self::name).join(", "))
    }
}
