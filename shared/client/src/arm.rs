//! The calls of Azure's API.

use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::{Answer, Listed, page};
use crate::error::Error;
use crate::path::{CollectionPath, GroupPath, JobPath, escaped};
use crate::transport::{Client, Method, Request};
use crate::types::{CollectionDocument, HistoryItem, Job};

/// Which version of a definition a change is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precondition<'a> {
    /// Whichever there is.
    Always,
    /// None: the change only creates.
    New,
    /// The version with this `ETag`.
    Unchanged(&'a str),
}

/// A list that is read page by page.
#[derive(Debug)]
pub struct Listing<'a, T> {
    client: &'a Client,
    /// The next page; `None` at the end.
    next: Option<String>,
    /// Whether pages of the archive are read.
    with_archive: bool,
    items: PhantomData<T>,
}

/// What links to pages of the archive have in their query.
const ARCHIVE: &str = "archive=true";

impl<T: DeserializeOwned> Listing<'_, T> {
    /// Reads the next page, at most 500 items; `None` at the end of the list.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn next_page(&mut self) -> Result<Option<Vec<Listed<T>>>, Error> {
        let Some(path) = self.next.take() else {
            return Ok(None);
        };
        let received = self.client.send(&Request::new(Method::GET, path)).await?;
        let text = self.client.text(&received)?;
        let (items, link) =
            page(&text).map_err(|error| self.client.not_understood(error.to_string()))?;
        let link = link.filter(|link| self.with_archive || !link.contains(ARCHIVE));
        self.next = link.as_deref().and_then(|link| self.client.server().path_of_link(link));
        Ok(Some(items))
    }

    /// The same list, and behind it what the server's archive has.
    #[must_use]
    pub fn and_archive(self) -> Self {
        Self { with_archive: true, ..self }
    }

    /// Reads the list up to a number of items.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn up_to(mut self, items_max: usize) -> Result<Vec<Listed<T>>, Error> {
        let mut items = Vec::new();
        while items.len() < items_max {
            match self.next_page().await? {
                Some(page) => items.extend(page),
                None => break,
            }
        }
        items.truncate(items_max);
        Ok(items)
    }
}

impl Client {
    fn listing<T>(&self, path: String) -> Listing<'_, T> {
        Listing { client: self, next: Some(path), with_archive: false, items: PhantomData }
    }

    /// Lists the collections of a place.
    #[must_use]
    pub fn collections(&self, place: &GroupPath) -> Listing<'_, CollectionDocument> {
        self.listing(place.arm_path())
    }

    /// Reads a collection.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn collection(
        &self,
        path: &CollectionPath,
    ) -> Result<Answer<CollectionDocument>, Error> {
        self.get(path.arm_path("")).await
    }

    /// Creates or replaces a collection.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn put_collection(
        &self,
        path: &CollectionPath,
        document: &Value,
        condition: Precondition<'_>,
    ) -> Result<Answer<CollectionDocument>, Error> {
        let request = Request::new(Method::PUT, path.arm_path("")).with_body(document);
        self.read(&request.on(condition)).await
    }

    /// Changes some properties of a collection.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn patch_collection(
        &self,
        path: &CollectionPath,
        changes: &Value,
    ) -> Result<Answer<CollectionDocument>, Error> {
        self.read(&Request::new(Method::PATCH, path.arm_path("")).with_body(changes)).await
    }

    /// Deletes a collection with its jobs.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn delete_collection(&self, path: &CollectionPath) -> Result<(), Error> {
        self.done(Request::new(Method::DELETE, path.arm_path(""))).await
    }

    /// Switches a collection on or off.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn switch_collection(&self, path: &CollectionPath, on: bool) -> Result<(), Error> {
        let switch = if on { "/enable" } else { "/disable" };
        self.done(Request::new(Method::POST, path.arm_path(switch)).repeatable()).await
    }

    /// Lists the jobs of a collection by name: all of them, or the jobs in a state.
    #[must_use]
    pub fn jobs(&self, path: &CollectionPath, state: Option<&str>) -> Listing<'_, Job> {
        self.listing(path.arm_path("/jobs") + &filter("state", state))
    }

    /// Reads a job.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn job(&self, path: &JobPath) -> Result<Answer<Job>, Error> {
        self.get(path.arm_path("")).await
    }

    /// Creates or replaces a job.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn put_job(
        &self,
        path: &JobPath,
        document: &Value,
        condition: Precondition<'_>,
    ) -> Result<Answer<Job>, Error> {
        let request = Request::new(Method::PUT, path.arm_path("")).with_body(document);
        self.read(&request.on(condition)).await
    }

    /// Changes some properties of a job.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn patch_job(
        &self,
        path: &JobPath,
        changes: &Value,
        condition: Precondition<'_>,
    ) -> Result<Answer<Job>, Error> {
        let request = Request::new(Method::PATCH, path.arm_path("")).with_body(changes);
        self.read(&request.on(condition)).await
    }

    /// Deletes a job.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn delete_job(&self, path: &JobPath) -> Result<(), Error> {
        self.done(Request::new(Method::DELETE, path.arm_path(""))).await
    }

    /// Runs a job once, now.
    ///
    /// # Errors
    ///
    /// [`Error`], as of every call.
    pub async fn run_job(&self, path: &JobPath, key: Option<&str>) -> Result<(), Error> {
        self.done(Request::new(Method::POST, path.arm_path("/run")).once(key)).await
    }

    /// Lists the attempts of a job, newest occurrence first: all of them, or those with a status.
    #[must_use]
    pub fn history(&self, path: &JobPath, status: Option<&str>) -> Listing<'_, HistoryItem> {
        self.listing(path.arm_path("/history") + &filter("status", status))
    }
}

/// The part of a query for the items of which a property is this.
fn filter(name: &str, value: Option<&str>) -> String {
    let filter = value.map(|value| escaped(&format!("{name} eq {value}")));
    filter.map_or_else(String::new, |filter| format!("&$filter={filter}"))
}
