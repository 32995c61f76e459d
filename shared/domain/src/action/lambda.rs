//! The action type `Lambda`.

use super::ActionType;
use super::texts::Text;
use crate::arn::Arn;
use crate::json::Shape::{Leaf, Object};
use crate::json::{Fields, ObjectBuilder, Shape};
use crate::refusal::Refusal;
use crate::template::TemplatePlace;

const FUNCTION_CHARS_MAX: usize = 170;

/// An invocation of a Lambda function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lambda {
    /// The name or the ARN of the function, with or without a version or an alias.
    pub function: String,
    /// The payload: JSON, exactly as it was sent.
    pub payload: Option<String>,
}

impl ActionType for Lambda {
    type Payload = Self;
    const TYPE: &'static str = "Lambda";
    const PROPERTY: &'static str = "lambdaInvocation";
    const SHAPE: Shape = Object(&[("functionName", Leaf), ("payload", Leaf)]);
    const IS_AWS: bool = true;
    const CONTENT: Option<&'static str> = Some("payload");

    fn read(fields: &Fields<'_>) -> Result<Self, Refusal> {
        Ok(Self {
            function: fields.required_owned("functionName")?,
            payload: fields.owned("payload")?,
        })
    }

    fn check(lambda: &Self, fields: &Fields<'_>) -> Result<(), Refusal> {
        let function = lambda.function.as_str();
        let known = |c: char| c.is_ascii_alphanumeric() || "-_:.$".contains(c);
        let is_arn = !function.starts_with("arn:") || Arn::read(function, "lambda").is_some();
        if function.len() > FUNCTION_CHARS_MAX || !function.chars().all(known) || !is_arn {
            let allowed =
                "use the name or the ARN of a function, with or without a version or an alias";
            return Err(fields.wrong("functionName", allowed));
        }
        let payload = lambda.payload.as_deref();
        if payload.is_some_and(|text| fields.json(text).is_none()) {
            return Err(fields.about("payload", "is not valid JSON; Lambda accepts only JSON."));
        }
        Ok(())
    }

    fn write(lambda: &Self) -> ObjectBuilder {
        ObjectBuilder::default()
            .set("functionName", lambda.function.as_str())
            .maybe("payload", lambda.payload.as_deref())
    }

    fn texts(payload: &mut Self) -> Vec<Text<'_>> {
        let text = payload.payload.iter_mut();
        text.map(|text| Text::new("payload", TemplatePlace::Json, text)).collect()
    }

    fn set_event(lambda: &mut Self, event: String) {
        lambda.payload = Some(event);
    }

    fn failure(lambda: &Self, what: &str, why: &str) -> String {
        format!("Lambda Action - Invocation of '{}' failed: {what} {why}", lambda.function)
    }
}
