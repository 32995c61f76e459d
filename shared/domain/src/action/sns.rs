//! The action type `Sns`.

use super::ActionType;
use super::attributes::{FIFO, check_attributes, check_group, check_message};
use super::queue_path::read_message;
use super::texts::{Text, place_of};
use crate::arn::Arn;
use crate::json::Shape::{Free, Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;
use crate::template::TemplatePlace;

const SUBJECT_CHARS_MAX: usize = 100;

/// A message for an SNS topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sns {
    /// The topic.
    pub topic: Arn,
    /// The text of the message.
    pub message: String,
    /// The subject, which SNS uses for subscribers by email.
    pub subject: Option<String>,
    /// The message's attributes, in their order.
    pub attributes: Option<Vec<(String, String)>>,
    /// The group within which a FIFO topic keeps the order; `None` is one group per job.
    pub group_id: Option<String>,
}

impl Sns {
    /// Whether the topic keeps the order of its messages.
    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.topic.as_str().ends_with(FIFO)
    }
}

impl ActionType for Sns {
    type Payload = Self;
    const TYPE: &'static str = "Sns";
    const PROPERTY: &'static str = "snsMessage";
    const SHAPE: Shape = Object(&[
        ("topicArn", Leaf),
        ("message", Leaf),
        ("subject", Leaf),
        ("messageAttributes", Free),
        ("messageGroupId", Leaf),
    ]);
    const IS_AWS: bool = true;
    const CONTENT: Option<&'static str> = Some("message");

    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        let topic = Arn::read(fields.required_text("topicArn")?, "sns").ok_or_else(|| {
            let allowed = "use the topic's ARN, like arn:aws:sns:eu-west-1:123456789012:t";
            fields.wrong("topicArn", allowed)
        })?;
        Ok(Self {
            topic,
            message: read_message(fields)?,
            subject: fields.owned("subject")?,
            attributes: fields.texts("messageAttributes")?,
            group_id: fields.owned("messageGroupId")?,
        })
    }

    fn check(sns: &Self, fields: &Fields<'_>) -> Result<(), Refusal> {
        let is_subject = |text: &str| {
            (1..=SUBJECT_CHARS_MAX).contains(&text.chars().count())
                && !text.chars().any(char::is_control)
        };
        if !sns.subject.as_deref().is_none_or(is_subject) {
            return Err(fields.wrong("subject", "use one line of 1 to 100 characters"));
        }
        check_message(fields, &sns.message)?;
        check_attributes(fields, sns.attributes.as_deref())?;
        check_group(fields, sns.group_id.as_deref())
    }

    fn write(sns: &Self) -> ObjectBuilder {
        ObjectBuilder::default()
            .set("topicArn", sns.topic.as_str())
            .set("message", sns.message.as_str())
            .maybe("subject", sns.subject.as_deref())
            .texts("messageAttributes", sns.attributes.as_deref())
            .maybe("messageGroupId", sns.group_id.as_deref())
    }

    fn texts(payload: &mut Self) -> Vec<Text<'_>> {
        let Self { message, subject, attributes, group_id, .. } = payload;
        let attributes =
            Text::values("messageAttributes", TemplatePlace::Header, attributes.as_mut());
        let lines = [("subject", subject), ("messageGroupId", group_id)];
        let lines = lines.into_iter().filter_map(|(name, text)| {
            Some(Text::new(name, TemplatePlace::Header, text.as_mut()?))
        });
        let message = Text::new("message", place_of(message), message);
        [message].into_iter().chain(attributes).chain(lines).collect()
    }

    fn set_event(sns: &mut Self, event: String) {
        sns.message = event;
    }

    fn failure(sns: &Self, what: &str, why: &str) -> String {
        format!("Sns Action - Message to topic '{}' failed: {what} {why}", sns.topic)
    }
}
