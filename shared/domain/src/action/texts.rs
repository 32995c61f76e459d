//! The texts of an action in which templates may stand.

use serde_json::Value as Json;

use super::{Action, MainAction, Target};
use crate::credentials::query_credentials;
use crate::json::SplitDocument;
use crate::refusal::Refusal;
use crate::secret::Secret;
use crate::template::{Placeholder, PlaceholderValue, Template, TemplatePlace, name_in, sample};

/// A text of an action's payload that may be a template.
pub(super) struct Text<'a> {
    /// Its path within the payload.
    pub(super) path: String,
    /// What it becomes a part of.
    pub(super) place: TemplatePlace,
    /// The text.
    pub(super) content: &'a mut String,
}

impl<'a> Text<'a> {
    pub(super) fn new(path: impl Into<String>, place: TemplatePlace, text: &'a mut String) -> Self {
        Self { path: path.into(), place, content: text }
    }

    /// The values under names that the user chose.
    pub(super) fn values(
        path: &'static str,
        place: TemplatePlace,
        pairs: Option<&'a mut Vec<(String, String)>>,
    ) -> impl Iterator<Item = Self> {
        let pairs = pairs.into_iter().flatten();
        pairs.map(move |(name, value)| Self::new(format!("{path}.{name}"), place, value))
    }
}

/// What a text becomes whose templates are not known to be JSON: JSON if it is an object, a list or a string with any
/// values.
pub(super) fn place_of(text: &str) -> TemplatePlace {
    let start = text.trim_start();
    let is_json = start.starts_with(['{', '[', '"']) && !start.starts_with("{{");
    if is_json && sample(text).is_some() { TemplatePlace::Json } else { TemplatePlace::Text }
}

impl Target {
    /// Puts values in place of the names in its texts.
    ///
    /// # Errors
    ///
    /// If a text is not a template. This is checked when the job is accepted, so it says that the store is
    /// damaged, or that a later version wrote the job.
    pub fn render(&mut self, value: impl Fn(&Template) -> String) -> Result<(), Refusal> {
        let property = self.property();
        for Text { path, place, content: text } in self.texts() {
            let template = Template::parse(text, place, &Placeholder::ALL);
            let template =
                template.map_err(|error| Refusal::about(format!("{property}.{path}"), error))?;
            *text = value(&template);
        }
        Ok(())
    }

    /// Checks the templates in its texts. Returns whether there are any.
    fn check_templates(&self, path: &str, names: &[Placeholder]) -> Result<bool, Refusal> {
        let about = |inner: &str| format!("{path}.{}.{inner}", self.property());
        let mut rest = self.clone();
        let mut has_any = false;
        for Text { path, place, content: text } in rest.texts() {
            let template = Template::parse(text, place, names);
            let template =
                template.map_err(|error| Refusal::about(about(&path), format!("{error}.")))?;
            has_any |= !template.is_constant();
            if let (TemplatePlace::Url, Some(name)) =
                (place, query_credentials(text).find_map(name_in))
            {
                return Err(kept_as_it_is(&about(&path), name.name()));
            }
            text.clear();
        }
        self.check_origin(&about("uri"))?;
        let SplitDocument { shown, secrets, .. } = rest.write().split();
        let documents = [Some(shown.as_str()), secrets.as_ref().and_then(Secret::known)];
        let documents =
            documents.into_iter().flatten().filter_map(|it| serde_json::from_str(it).ok());
        if let Some((inner, name)) = documents.collect::<Vec<_>>().iter().find_map(name_within) {
            return Err(kept_as_it_is(&about(&inner), name));
        }
        Ok(has_any)
    }

    /// Refuses a URL whose scheme, host or port depends on a value.
    fn check_origin(&self, path: &str) -> Result<(), Refusal> {
        let origin = |value: &'static str| {
            let mut target = self.clone();
            let rendered =
                target.render(|template| template.render(None, &|_| PlaceholderValue::Text(value)));
            rendered.map(|()| target.origin())
        };
        if origin("a")? == self.origin() && origin("b")? == self.origin() {
            return Ok(());
        }
        let problem = "has a name in double braces before its path; the scheme, the host and the \
            port must be written out.";
        Err(Refusal::about(path, problem))
    }
}

/// The refusal of a name where none becomes a value.
fn kept_as_it_is(path: &str, name: &str) -> Refusal {
    Refusal::about(
        path,
        format!(
            "contains '{{{{{name}}}}}', but names become values only in what is sent; credentials, and \
             what says where the action goes, stay as they are. Remove it."
        ),
    )
}

/// The first text in an object that has a name in it, by its path, and the name.
fn name_within(object: &Json) -> Option<(String, &'static str)> {
    object.as_object()?.iter().find_map(|(key, value)| match value {
        Json::String(text) => Some((key.clone(), name_in(text)?.name())),
        Json::Array(items) => {
            let name = items.iter().find_map(|item| name_in(item.as_str()?))?;
            Some((key.clone(), name.name()))
        }
        _ => name_within(value).map(|(path, name)| (format!("{key}.{path}"), name)),
    })
}

/// Checks the templates in the actions of a job that has templates.
pub(crate) fn check_templates(actions: &MainAction) -> Result<(), Refusal> {
    let MainAction { action, error_action } = actions;
    let mut has_any = action.target.check_templates("action", Placeholder::OF_ACTIONS)?;
    if let Some(Action { target, .. }) = error_action.as_deref() {
        has_any |= target.check_templates("action.errorAction", Placeholder::OF_ERROR_ACTIONS)?;
    }
    if has_any {
        return Ok(());
    }
    let problem = format!(
        "has no effect, because no name in double braces stands in the action; the names are {}. \
         Use one, or leave this out.",
        Placeholder::OF_ACTIONS.iter().map(|name| name.name()).collect::<Vec<_>>().join(", ")
    );
    Err(Refusal::about("minutehand.template", problem))
}

#[cfg(test)]
mod tests;
