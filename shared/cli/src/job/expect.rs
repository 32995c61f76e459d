//! Jobs that expect pings: the options, the URL, and `job rotate-ping`.

use clap::Args;
use serde_json::{Map, Value, json};

use super::NamedArgs;
use crate::failure::{Failure, Result};
use crate::instant::optional_span;
use crate::merge::object;
use crate::work::Work;

const HEADING: &str = "What it calls";
/// The type of the action.
pub(super) const TYPE: &str = "Expect";

/// The options of a job that expects pings.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ExpectArgs {
    /// Call nothing; expect a ping each time
    #[arg(long, help_heading = HEADING, conflicts_with_all = ["url", "file"])]
    pub(crate) expect: bool,
    #[command(flatten)]
    window: WindowArgs,
}

/// When a ping may come.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct WindowArgs {
    /// How early a ping may come [default: 5m]
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    early: Option<String>,
    /// How late a ping may come [default: 10m]
    #[arg(long, value_name = "SPAN", help_heading = HEADING)]
    grace: Option<String>,
}

impl WindowArgs {
    /// What is given of it.
    fn given(&self) -> Result<Map<String, Value>> {
        Ok(object([
            ("early", optional_span("--early", self.early.as_deref())?),
            ("grace", optional_span("--grace", self.grace.as_deref())?),
        ]))
    }

    /// Adds to the changes of a job that expects pings.
    pub(super) fn put_into(
        &self,
        patch: &mut Map<String, Value>,
        found: &Map<String, Value>,
    ) -> Result<()> {
        let window = self.given()?;
        if window.is_empty() {
            return Ok(());
        }
        if !expects(found) || patch.contains_key("action") {
            return Err(Failure::refused(
                "--early and --grace are those of a job that expects pings, and this one does not",
            ));
        }
        patch.insert("action".to_owned(), json!({"expect": window}));
        Ok(())
    }
}

impl ExpectArgs {
    /// The action, if pings are expected.
    pub(crate) fn action(&self) -> Result<Option<Value>> {
        let window = self.window.given()?;
        if !self.expect && !window.is_empty() {
            return Err(Failure::refused("--early and --grace need --expect"));
        }
        Ok(self.expect.then(|| json!({"type": TYPE, "expect": window})))
    }
}

/// Whether a job with these properties expects pings.
pub(super) fn expects(properties: &Map<String, Value>) -> bool {
    let kind = properties.get("action").and_then(|action| action.get("type")?.as_str());
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case(TYPE))
}

/// What an action expects, in a few words.
pub(super) fn in_words(action: &Value) -> String {
    let span = |name: &str, default: &'static str| {
        let sent = action.pointer(&format!("/expect/{name}")).and_then(Value::as_str);
        sent.unwrap_or(default).to_owned()
    };
    let (early, grace) = (span("early", "00:05:00"), span("grace", "00:10:00"));
    format!("a ping, from {early} before until {grace} after")
}

pub(super) async fn rotate(work: &Work, args: &NamedArgs) -> Result<()> {
    let path = work.defaults().job(&args.name)?;
    let answer = work.client().rotate_ping(&path).await?;
    if let Some(json) = &work.json {
        return json.document(&work.screen, &answer.text);
    }
    let name = work.defaults().short_job(&path);
    work.screen.line(&format!("{name} takes pings at {}", answer.value.url))?;
    work.screen.note("the URL before takes none any more");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_an_action() {
        let none = ExpectArgs::default();
        assert_eq!(none.action().unwrap(), None);
        let expect = ExpectArgs { expect: true, ..none };
        assert_eq!(expect.action().unwrap(), Some(json!({"type": "Expect", "expect": {}})));
        let window = |grace: &str| WindowArgs { grace: Some(grace.to_owned()), early: None };
        let grace = ExpectArgs { window: window("20m"), ..expect.clone() };
        let action = grace.action().unwrap().unwrap();
        assert_eq!(action["expect"], json!({"grace": "PT1200S"}));
        for wrong in [("soon", true), ("20m", false)] {
            let wrong = ExpectArgs { window: window(wrong.0), expect: wrong.1 };
            assert!(wrong.action().unwrap_err().message.contains("--grace"));
        }
        let found = Map::from_iter([("action".to_owned(), action)]);
        assert!(expects(&found));
        let mut patch = Map::new();
        window("30m").put_into(&mut patch, &found).unwrap();
        assert_eq!(patch["action"], json!({"expect": {"grace": "PT1800S"}}));
        assert!(window("30m").put_into(&mut Map::new(), &Map::new()).is_err());
        WindowArgs::default().put_into(&mut Map::new(), &Map::new()).unwrap();
    }
}
