//! The action `Sns`: `Publish`, as a form. The answer is XML.

use minutehand_domain::action::Sns;
use minutehand_ports::AttemptContext;
use url::form_urlencoded::Serializer;

use super::{Account, Answer, ApiCall, Service, deduplication_id, message_group, own_attributes};
use crate::http::element_text;
use crate::outcome::ActionFailure;

impl Service for Sns {
    const NAME: &'static str = "sns";

    fn region(&self, _account: &Account) -> Result<String, ActionFailure> {
        Ok(self.topic.region().to_owned())
    }

    fn call(&self, context: &AttemptContext) -> ApiCall {
        let mut form = Serializer::new(String::new());
        form.append_pair("Action", "Publish")
            .append_pair("Version", "2010-03-31")
            .append_pair("TopicArn", self.topic.as_str())
            .append_pair("Message", &self.message);
        if let Some(subject) = &self.subject {
            form.append_pair("Subject", subject);
        }
        if let Some(group) = message_group(self.group_id.as_deref(), self.is_fifo(), context) {
            form.append_pair("MessageGroupId", group);
        }
        if self.is_fifo() {
            form.append_pair("MessageDeduplicationId", deduplication_id(context));
        }
        let given = self.attributes.iter().flatten();
        let own = own_attributes(context, given.clone().count());
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let given = given.map(|(name, value)| (name.as_str(), value.as_str()));
        for (n, (name, value)) in (1..).zip(given.chain(own)) {
            let entry = format!("MessageAttributes.entry.{n}");
            form.append_pair(&format!("{entry}.Name"), name)
                .append_pair(&format!("{entry}.Value.DataType"), "String")
                .append_pair(&format!("{entry}.Value.StringValue"), value);
        }
        ApiCall {
            path: "/".to_owned(),
            headers: vec![("content-type", "application/x-www-form-urlencoded; charset=utf-8")],
            body: form.finish(),
        }
    }

    fn description(&self) -> String {
        format!("Message to topic '{}'", self.topic)
    }

    fn accepted_id(&self, answer: &Answer<'_>) -> Result<Option<String>, ActionFailure> {
        Ok(element_text(answer.text, "MessageId"))
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::arn::Arn;

    use super::super::tests::context;
    use super::*;

    #[test]
    fn a_message_for_a_fifo_topic_is_a_form() {
        let message = Sns {
            topic: Arn::read("arn:aws:sns:eu-west-1:1:t.fifo", "sns").unwrap(),
            message: "a b".to_owned(),
            subject: Some("s".to_owned()),
            attributes: Some(vec![("kind".to_owned(), "a&b".to_owned())]),
            group_id: None,
        };
        assert_eq!(
            message.call(&context()).body,
            "Action=Publish&Version=2010-03-31&TopicArn=arn%3Aaws%3Asns%3Aeu-west-1%3A1%3At.fifo&\
             Message=a+b&Subject=s&MessageGroupId=u1&MessageDeduplicationId=u1.1.2.m0&\
             MessageAttributes.entry.1.Name=kind&MessageAttributes.entry.1.Value.DataType=String&\
             MessageAttributes.entry.1.Value.StringValue=a%26b&\
             MessageAttributes.entry.2.Name=x-ms-scheduler-execution-id&\
             MessageAttributes.entry.2.Value.DataType=String&\
             MessageAttributes.entry.2.Value.StringValue=u1.1.2.m0&\
             MessageAttributes.entry.3.Name=x-ms-scheduler-expected-execution-time&\
             MessageAttributes.entry.3.Value.DataType=String&\
             MessageAttributes.entry.3.Value.StringValue=2023-11-14T22%3A13%3A20.0000005Z"
        );
    }
}
