//! The action type `Sqs`.

use url::Url;

use super::ActionType;
use super::attributes::{FIFO, check_attributes, check_group, check_message};
use super::queue_path::read_message;
use super::texts::{Text, place_of};
use crate::json::Shape::{Free, Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;
use crate::template::TemplatePlace;

const QUEUE_URL_CHARS_MAX: usize = 2_048;

/// A message for an SQS queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sqs {
    /// The URL of the queue.
    pub queue_url: String,
    /// The text of the message.
    pub message: String,
    /// The message's attributes, in their order.
    pub attributes: Option<Vec<(String, String)>>,
    /// The group within which a FIFO queue keeps the order; `None` is one group per job.
    pub group_id: Option<String>,
}

impl Sqs {
    /// Whether the queue keeps the order of its messages.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.queue_url.ends_with(FIFO)
    }
}

impl ActionType for Sqs {
    type Payload = Self;
    const TYPE: &'static str = "Sqs";
    const PROPERTY: &'static str = "sqsMessage";
    const SHAPE: Shape = Object(&[
        ("queueUrl", Leaf),
        ("message", Leaf),
        ("messageAttributes", Free),
        ("messageGroupId", Leaf),
    ]);
    const IS_AWS: bool = true;
    const CONTENT: Option<&'static str> = Some("message");

    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            queue_url: fields.required_owned("queueUrl")?,
            message: read_message(fields)?,
            attributes: fields.texts("messageAttributes")?,
            group_id: fields.owned("messageGroupId")?,
        })
    }

    fn check(sqs: &Self, fields: &Fields<'_>) -> Result<(), Refusal> {
        if !is_queue_url(&sqs.queue_url) {
            let allowed =
                "use the queue's URL, like https://sqs.eu-west-1.amazonaws.com/123456789012/q";
            return Err(fields.wrong("queueUrl", allowed));
        }
        check_message(fields, &sqs.message)?;
        check_attributes(fields, sqs.attributes.as_deref())?;
        check_group(fields, sqs.group_id.as_deref())
    }

    fn write(sqs: &Self) -> ObjectBuilder {
        ObjectBuilder::default()
            .set("queueUrl", sqs.queue_url.as_str())
            .set("message", sqs.message.as_str())
            .texts("messageAttributes", sqs.attributes.as_deref())
            .maybe("messageGroupId", sqs.group_id.as_deref())
    }

    fn texts(payload: &mut Self) -> Vec<Text<'_>> {
        let Self { message, attributes, group_id, .. } = payload;
        let attributes =
            Text::values("messageAttributes", TemplatePlace::Header, attributes.as_mut());
        let group =
            group_id.iter_mut().map(|id| Text::new("messageGroupId", TemplatePlace::Header, id));
        let message = Text::new("message", place_of(message), message);
        [message].into_iter().chain(attributes).chain(group).collect()
    }

    fn set_event(sqs: &mut Self, event: String) {
        sqs.message = event;
    }

    fn failure(sqs: &Self, what: &str, why: &str) -> String {
        format!("Sqs Action - Message to queue '{}' failed: {what} {why}", sqs.queue_url)
    }
}

fn is_queue_url(text: &str) -> bool {
    let url = Url::parse(text).ok().filter(|_| text.len() <= QUEUE_URL_CHARS_MAX);
    url.is_some_and(|url| {
        let is_http = matches!(url.scheme(), "http" | "https");
        let names =
            url.path_segments().map_or(0, |parts| parts.filter(|part| !part.is_empty()).count());
        let has_more =
            url.query().is_some() || url.fragment().is_some() || !url.username().is_empty();
        is_http && names >= 2 && !has_more
    })
}
