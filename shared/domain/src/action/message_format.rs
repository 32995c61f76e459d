//! The property `messageFormat` of messages for Azure.

use crate::json::Fields;
use crate::refusal::Refusal;

/// The form in which a message is sent to an Azure queue or topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageFormat {
    /// The form of the original: for a Storage queue an XML document that describes the execution,
    /// for Service Bus a string as .NET serializes it.
    Envelope,
    /// The text of the job and nothing else.
    Raw,
}

impl MessageFormat {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::Envelope, Self::Raw];

    /// The name, as answered.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Raw => "raw",
        }
    }

    pub(super) fn read(message: &Fields<'_>) -> Result<Option<Self>, Refusal> {
        let known =
            |text: &str| Self::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
        message.one_of("messageFormat", known, &Self::ALL.map(Self::name).join(", "))
    }
}
