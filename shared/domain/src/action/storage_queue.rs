//! The action type `StorageQueue`.

use super::message_format::MessageFormat;
use super::queue_path::{read_host_label, read_message, read_path};

use super::ActionType;
use super::texts::{Text, place_of};
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;
use crate::secret::Secret;

/// A message for a Storage queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StorageQueue {
    /// The name of the storage account.
    pub account: String,
    /// The name of the queue.
    pub queue: String,
    /// The shared access signature that authorizes the message.
    pub sas_token: Secret,
    /// The text of the message.
    pub message: String,
    /// The form of the message as it was sent; `None` is the envelope.
    pub format: Option<MessageFormat>,
}

impl ActionType for StorageQueue {
    type Payload = Self;
    const TYPE: &'static str = "StorageQueue";
    const PROPERTY: &'static str = "queueMessage";
    const PLACE: &'static str = "storageAccount";
    const SECRETS: &'static [&'static str] = &["/sasToken"];
    const SHAPE: Shape = Object(&[
        ("storageAccount", Leaf),
        ("queueName", Leaf),
        ("sasToken", Shape::Secret),
        ("message", Leaf),
        ("messageFormat", Leaf),
    ]);
    const CONTENT: Option<&'static str> = Some("message");

    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            account: read_host_label(fields, "storageAccount")?,
            queue: read_path(fields, "queueName")?,
            sas_token: fields.required_secret("sasToken")?,
            message: read_message(fields)?,
            format: MessageFormat::read(fields)?,
        })
    }

    fn check(queue: &Self, fields: &Fields<'_>) -> Result<(), Refusal> {
        // The message is sent inside an XML document.
        let Some(c) = queue.message.chars().find(|c| !is_xml_char(*c)) else {
            return Ok(());
        };
        let code = u32::from(c);
        let problem =
            format!("contains the character U+{code:04X}, which a Storage queue does not accept.");
        Err(fields.about("message", problem))
    }

    fn write(queue: &Self) -> ObjectBuilder {
        ObjectBuilder::default()
            .set("storageAccount", queue.account.as_str())
            .set("queueName", queue.queue.as_str())
            .secret("sasToken", &queue.sas_token)
            .set("message", queue.message.as_str())
            .maybe("messageFormat", queue.format.map(MessageFormat::name))
    }

    fn texts(payload: &mut Self) -> Vec<Text<'_>> {
        vec![Text::new("message", place_of(&payload.message), &mut payload.message)]
    }

    fn set_event(queue: &mut Self, event: String) {
        queue.message = event;
    }

    fn failure(queue: &Self, what: &str, why: &str) -> String {
        format!(
            "StorageQueue Action - Message to queue '{}' of storage account '{}' failed: {what} {why}",
            queue.queue, queue.account
        )
    }

    fn place(account: &str) -> String {
        account.to_ascii_lowercase()
    }

    fn place_text(queue: &Self) -> Option<&str> {
        Some(&queue.account)
    }
}

/// Whether an XML 1.0 document can contain a character.
const fn is_xml_char(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}
