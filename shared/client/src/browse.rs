//! What people look at, from `/minutehand/v1`: the journal, dead letters, and what is ahead.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answer::{Answer, Listed};
use crate::error::Error;
use crate::path::{CollectionPath, JobPath, escaped};
use crate::transport::{Client, Method, Request};
use crate::types::{
    AlertAnswer, AlertTestAnswer, DatabaseItem, DeadLetterItem, DeadLettersAnswer, FailureItem,
    JobAlertAnswer, JournalChange, ListedJob, LoadAnswer, OverviewAnswer, ProcessItem,
    UpcomingItem,
};
use crate::wall::WallAnswer;

/// The most pages of one list.
const PAGES_MAX: usize = 1_000;
/// The most rows that the server puts into one page.
const ROWS_MAX: usize = 500;

/// Which dead letters are meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Chosen {
    /// All of them.
    All(bool),
    /// Those with these ids.
    Ids(Vec<String>),
}

/// A job that was found by a part of its name.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FoundJob {
    /// The resource group of the collection.
    pub resource_group: String,
    /// The collection.
    pub collection: String,
    /// The job.
    pub job: String,
    /// Its state.
    pub state: String,
    /// When it fires, in words, if the server can read it.
    pub sentence: Option<String>,
    /// Its next occurrence.
    pub next: Option<String>,
    /// How its last occurrences ended, one letter each, the newest last.
    pub recent: String,
}

/// Which occurrences are counted.
#[derive(Debug, Clone, Default)]
pub struct AheadQuery {
    /// Only those of this collection.
    pub collection: Option<CollectionPath>,
    /// The beginning, in RFC 3339.
    pub from: Option<String>,
    /// The end.
    pub to: Option<String>,
    /// The zone whose hours and days are counted.
    pub zone: Option<String>,
    /// The span of one count: `PT1H`.
    pub step: Option<String>,
    /// The most occurrences of a list.
    pub limit: Option<usize>,
}

impl AheadQuery {
    fn path(&self, subscription: &str, what: &str) -> String {
        let collection = self.collection.as_ref().map(CollectionPath::in_subscription);
        let parameters = [
            ("collection", &collection),
            ("from", &self.from),
            ("to", &self.to),
            ("zone", &self.zone),
            ("step", &self.step),
            ("limit", &self.limit.map(|limit| limit.to_string())),
        ];
        let given = parameters
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", escaped(value.as_ref()?))));
        let query = given.collect::<Vec<_>>().join("&");
        format!("/minutehand/v1/subscriptions/{}/{what}?{query}", escaped(subscription))
    }
}

impl Client {
    /// Lists the jobs of a collection in rows, by name; perhaps only those in one state.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn rows(
        &self,
        collection: &CollectionPath,
        state: Option<&str>,
        max: usize,
    ) -> Result<Vec<ListedJob>, Error> {
        let state = state.map_or_else(String::new, |state| format!("state={}&", escaped(state)));
        let limit = max.clamp(1, ROWS_MAX);
        let path = collection.v1(&format!("/rows?{state}limit={limit}&"));
        self.pages(&path, max, |page| self.rows_of(page)).await
    }

    /// The rows of a page, whose columns are named once.
    fn rows_of(&self, page: &Value) -> Result<Vec<ListedJob>, Error> {
        let missing = || self.not_understood("there are no rows".to_owned());
        let array = |value: &'_ Value| value.as_array().cloned();
        let columns = page.get("columns").and_then(array).ok_or_else(missing)?;
        let items = page.get("items").and_then(array).ok_or_else(missing)?;
        let read = |item: &Value| {
            let values = item.as_array().cloned().unwrap_or_default();
            let names = columns.iter().filter_map(Value::as_str).map(str::to_owned);
            let row: Map<String, Value> = names.zip(values).collect();
            serde_json::from_value(row.into())
                .map_err(|error| self.not_understood(error.to_string()))
        };
        items.iter().map(read).collect()
    }

    /// The next occurrences of a subscription, the soonest first.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn upcoming(
        &self,
        subscription: &str,
        query: &AheadQuery,
    ) -> Result<Vec<Listed<UpcomingItem>>, Error> {
        let answer: Answer<Value> = self.get(query.path(subscription, "upcoming")).await?;
        self.listed(&answer.value, "items")
    }

    /// The processes that share the database of the installation; none if there is one process alone.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn processes(&self) -> Result<Vec<Listed<ProcessItem>>, Error> {
        let answer: Answer<Value> = self.get("/minutehand/v1/processes".to_owned()).await?;
        self.listed(&answer.value, "items")
    }

    /// What there is to know of the database of the installation; nothing without one.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn database(&self) -> Result<Vec<Listed<DatabaseItem>>, Error> {
        let answer: Answer<Value> = self.get("/minutehand/v1/database".to_owned()).await?;
        self.listed(&answer.value, "items")
    }

    /// Whether the alerts of a collection arrive.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn alert(&self, collection: &CollectionPath) -> Result<Answer<AlertAnswer>, Error> {
        self.get(collection.v1("/alert")).await
    }

    /// What is known of a job for the alerts of its collection.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn job_alert(&self, job: &JobPath) -> Result<Answer<JobAlertAnswer>, Error> {
        self.get(job.v1("/alert")).await
    }

    /// Sends a test alert of a collection.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn test_alert(
        &self,
        collection: &CollectionPath,
    ) -> Result<Answer<AlertTestAnswer>, Error> {
        self.read(&Request::new(Method::POST, collection.v1("/alert/test"))).await
    }

    /// How a subscription is doing.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn overview(&self, subscription: &str) -> Result<Answer<OverviewAnswer>, Error> {
        let path = format!("/minutehand/v1/subscriptions/{}/overview", escaped(subscription));
        self.get(path).await
    }

    /// What became of the occurrences of a subscription and what is due, so many hours back and ahead.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn wall(
        &self,
        subscription: &str,
        [back, ahead]: [u32; 2],
    ) -> Result<Answer<WallAnswer>, Error> {
        let subscription = escaped(subscription);
        let query = format!("back={back}&ahead={ahead}");
        self.get(format!("/minutehand/v1/subscriptions/{subscription}/wall?{query}")).await
    }

    /// Finds jobs of a subscription by a part of their names; the second value is whether all names were looked at, or
    /// enough were found.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn find(
        &self,
        subscription: &str,
        text: &str,
        max: usize,
    ) -> Result<(Vec<Listed<FoundJob>>, bool), Error> {
        let (subscription, text) = (escaped(subscription), escaped(text));
        let path = format!("/minutehand/v1/subscriptions/{subscription}/find?q={text}&limit={max}");
        let answer: Answer<Value> = self.get(path).await?;
        let is_whole = answer.value.get("isWhole").and_then(Value::as_bool).unwrap_or_default();
        Ok((self.listed(&answer.value, "items")?, is_whole))
    }

    /// The occurrences of a subscription that failed for good since an instant, the newest first; perhaps
    /// only those of a collection, or of its jobs with a name.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn failures(
        &self,
        subscription: &str,
        (collection, job): (Option<&CollectionPath>, Option<&str>),
        since: &str,
        max: usize,
    ) -> Result<Vec<Listed<FailureItem>>, Error> {
        let (subscription, since) = (escaped(subscription), escaped(since));
        let collection = collection.map(CollectionPath::in_subscription);
        let given = [("collection", collection.as_deref()), ("job", job)];
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let mut path =
            format!("/minutehand/v1/subscriptions/{subscription}/failures?since={since}&");
        for (name, value) in given {
            path.extend([name, "=", &escaped(value), "&"]);
        }
        self.pages(&path, max, |page| self.listed(page, "items")).await
    }

    /// Lists changes of a collection, or of one of its jobs, the newest first.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn journal(
        &self,
        collection: &CollectionPath,
        job: Option<&str>,
        max: usize,
    ) -> Result<Vec<Listed<JournalChange>>, Error> {
        let job = job.map_or_else(String::new, |job| format!("job={}&", escaped(job)));
        let path = collection.v1(&format!("/journal?{job}"));
        self.pages(&path, max, |page| self.listed(page, "items")).await
    }

    /// Looks at dead letters: about how many there are, and some of them.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn dead_letters(&self, max: u8) -> Result<(u64, Vec<Listed<DeadLetterItem>>), Error> {
        let path = format!("/minutehand/v1/deadletters?limit={max}");
        let answer: Answer<Value> = self.get(path).await?;
        let about = answer.value.get("about").and_then(Value::as_u64).unwrap_or_default();
        Ok((about, self.listed(&answer.value, "items")?))
    }

    /// Sends dead letters to the workers again.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn redrive(&self, chosen: &Chosen) -> Result<Answer<DeadLettersAnswer>, Error> {
        self.with_dead_letters("redrive", chosen).await
    }

    /// Deletes dead letters.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn delete_dead_letters(
        &self,
        chosen: &Chosen,
    ) -> Result<Answer<DeadLettersAnswer>, Error> {
        self.with_dead_letters("delete", chosen).await
    }

    /// Counts the occurrences of a subscription, added up over all pages.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn load(&self, subscription: &str, query: &AheadQuery) -> Result<LoadAnswer, Error> {
        let path = query.path(subscription, "load");
        let mut sum: Option<LoadAnswer> = None;
        let mut position = String::new();
        for _ in 0..PAGES_MAX {
            let page: Answer<LoadAnswer> = self.get(format!("{path}{position}")).await?;
            let page = page.value;
            let next = page.position.clone();
            sum = Some(match sum {
                None => page,
                Some(sum) => sum.and(page),
            });
            let Some(next) = next else { break };
            position = format!("&position={}", escaped(&next));
        }
        sum.ok_or_else(|| self.not_understood("no page".to_owned()))
    }

    async fn with_dead_letters(
        &self,
        what: &str,
        chosen: &Chosen,
    ) -> Result<Answer<DeadLettersAnswer>, Error> {
        let path = format!("/minutehand/v1/deadletters/{what}");
        self.read(&Request::new(Method::POST, path).with_body(&json!(chosen))).await
    }

    /// Puts the pages of a list together; `path` ends where a parameter may follow.
    async fn pages<T>(
        &self,
        path: &str,
        max: usize,
        read: impl Fn(&Value) -> Result<Vec<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        let (mut items, mut position) = (Vec::new(), String::new());
        for _ in 0..PAGES_MAX {
            let page: Answer<Value> = self.get(format!("{path}{position}")).await?;
            items.extend(read(&page.value)?);
            let next = page.value.get("position").and_then(Value::as_str);
            let Some(next) = next.filter(|_| items.len() < max) else { break };
            position = format!("position={}", escaped(next));
        }
        items.truncate(max);
        Ok(items)
    }

    /// The items of a page, which are under this name.
    pub(crate) fn listed<T: DeserializeOwned>(
        &self,
        page: &Value,
        name: &str,
    ) -> Result<Vec<Listed<T>>, Error> {
        let items = page.get(name).and_then(Value::as_array);
        let items = items.ok_or_else(|| self.not_understood(format!("there are no {name}")))?;
        let read = |item: &Value| {
            let value = serde_json::from_value(item.clone());
            let value = value.map_err(|error| self.not_understood(error.to_string()))?;
            Ok(Listed { value, text: item.to_string() })
        };
        items.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_written_as_the_server_reads_it() {
        assert_eq!(json!(Chosen::All(true)), json!({"all": true}));
        assert_eq!(json!(Chosen::Ids(vec!["1".to_owned()])), json!({"ids": ["1"]}));
    }

    #[test]
    fn only_what_is_asked_for_is_in_the_query() {
        let query = AheadQuery {
            zone: Some("Europe/Berlin".to_owned()),
            step: Some("PT1H".to_owned()),
            ..AheadQuery::default()
        };
        assert_eq!(
            query.path("my sub", "load"),
            "/minutehand/v1/subscriptions/my%20sub/load?zone=Europe%2FBerlin&step=PT1H"
        );
    }

    #[test]
    fn counts_of_pages_add_up() {
        let page = |counts: &[u64]| LoadAnswer { counts: counts.to_vec(), ..LoadAnswer::default() };
        assert_eq!(page(&[1, 2]).and(page(&[10, 0])).counts, [11, 2]);
    }
}
