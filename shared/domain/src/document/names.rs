//! The names of properties, and where they stand.

use minutehand_recurrence::nearest;
use serde_json::{Map, Value};

use crate::action::MAIN_ACTION;
use crate::extensions::{CollectionExtensions, EXTENSIONS, JobExtensions};
use crate::json::Shape;
use crate::json::Shape::{Free, Leaf, Object, Whole};
use crate::refusal::{Fix, Refusal};

/// Properties of a body that resource templates and clients send beside those of a resource. They
/// are accepted and have no effect.
pub const CARRIED: [&str; 8] =
    ["$schema", "apiVersion", "comments", "condition", "dependsOn", "etag", "scale", "systemData"];

/// The property in which a template nests other resources. Exported templates have it, empty.
pub const NESTED: &str = "resources";

/// The most places that a message proposes for a property.
const PLACES_MAX: usize = 3;
/// The most characters of an unknown name that a message repeats.
const NAME_CHARS_MAX: usize = 60;

const SCHEDULE: Shape = Whole(&[
    ("minutes", Leaf),
    ("minute", Leaf),
    ("hours", Leaf),
    ("hour", Leaf),
    ("weekDays", Leaf),
    ("monthDays", Leaf),
    ("monthlyOccurrences", Leaf),
    ("months", Leaf),
]);

/// The body of a request for a job.
pub const JOB: Shape = Object(&[
    ("id", Leaf),
    ("type", Leaf),
    ("name", Leaf),
    (
        "properties",
        Object(&[
            ("startTime", Leaf),
            ("action", MAIN_ACTION),
            (
                "recurrence",
                Object(&[
                    ("frequency", Leaf),
                    ("interval", Leaf),
                    ("count", Leaf),
                    ("endTime", Leaf),
                    ("schedule", SCHEDULE),
                    ("timeZone", Leaf),
                ]),
            ),
            (EXTENSIONS, JobExtensions::SHAPE),
            ("state", Leaf),
            ("status", Leaf),
        ]),
    ),
]);

/// The body of a request for a collection.
pub const COLLECTION: Shape = Object(&[
    ("id", Leaf),
    ("type", Leaf),
    ("name", Leaf),
    ("location", Leaf),
    ("tags", Free),
    (
        "properties",
        Object(&[
            ("sku", Object(&[("name", Leaf)])),
            ("state", Leaf),
            (
                "quota",
                Object(&[
                    ("maxJobCount", Leaf),
                    ("maxJobOccurrence", Leaf),
                    ("maxRecurrence", Object(&[("frequency", Leaf), ("interval", Leaf)])),
                ]),
            ),
            (EXTENSIONS, CollectionExtensions::SHAPE),
        ]),
    ),
]);

/// The body of a request with every property name in its canonical case.
///
/// If a property appears twice in different cases, the last one counts, as it does for a property
/// that appears twice in the same case. Names inside a `schedule` stay as they are, because the
/// recurrence reads them.
///
/// # Errors
///
/// If a property is unknown, or stands in another place than its own. Without that, a misspelt
/// `recurrence` would become a job that runs once.
pub fn canonical_names(body: Value, root: Shape) -> Result<Value, Refusal> {
    let Value::Object(mut map) = body else {
        return Ok(body);
    };
    let carried = |name: &str| CARRIED.iter().any(|known| known.eq_ignore_ascii_case(name));
    if let Some((name, _)) = map.iter().find(|(name, value)| is_nested(name, value)) {
        return Err(Refusal::invalid(format!(
            "'{name}' contains other resources; send each of them as a request of its own."
        )));
    }
    map.retain(|name, _| !carried(name) && !name.eq_ignore_ascii_case(NESTED));
    Names { root, path: Vec::new() }.canonical(map, root)
}

/// Whether a property nests resources that would be lost.
fn is_nested(name: &str, value: &Value) -> bool {
    let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    name.eq_ignore_ascii_case(NESTED) && !is_empty
}

/// The path of a property of the extensions of a stored job that this version does not know: a newer
/// one wrote it. Without that property the job would not fire as it was meant to.
#[must_use]
pub fn unknown_extension(properties: &Value) -> Option<String> {
    let mut path = vec![EXTENSIONS.to_owned()];
    find_unknown(properties.get(EXTENSIONS)?, JobExtensions::SHAPE, &mut path)
        .then(|| path.join("."))
}

/// Whether an object has a property that its shape does not have; `path` leads to it then.
fn find_unknown(value: &Value, shape: Shape, path: &mut Vec<String>) -> bool {
    let (Object(_), Value::Object(map)) = (shape, value) else { return false };
    for (name, value) in map {
        path.push(name.clone());
        let is_known = shape.canonical(name).is_some();
        if !is_known || find_unknown(value, shape.property(name), path) {
            return true;
        }
        path.pop();
    }
    false
}

/// The names on the way to an object, and the shape that they begin at.
struct Names {
    root: Shape,
    path: Vec<&'static str>,
}

impl Names {
    fn canonical(&mut self, map: Map<String, Value>, shape: Shape) -> Result<Value, Refusal> {
        let mut canonical = Map::new();
        for (name, value) in map {
            let Some(known) = shape.canonical(&name) else {
                self.check_unknown(&name, shape)?;
                canonical.insert(name, value);
                continue;
            };
            let inner = shape.property(known);
            let (name, value) = match (shape, value) {
                (Whole(_), value) => (name, value),
                (_, Value::Object(map)) => {
                    self.path.push(known);
                    let value = self.canonical(map, inner)?;
                    self.path.pop();
                    (known.to_owned(), value)
                }
                (_, value) => (known.to_owned(), value),
            };
            canonical.insert(name, value);
        }
        Ok(Value::Object(canonical))
    }

    /// Refuses an unknown name, unless the object may have any name or reads its names itself.
    fn check_unknown(&self, name: &str, shape: Shape) -> Result<(), Refusal> {
        if !matches!(shape, Object(_) | Whole(_)) {
            return Ok(());
        }
        let places = self.places(name);
        if !places.is_empty() {
            let (path, places) = (self.path_of(name), places.join(" or "));
            return Err(Refusal::about(&path, format!("belongs {places}.")));
        }
        if let Whole(_) = shape {
            return Ok(());
        }
        let names = shape.properties().map(|(known, _)| known);
        if let Some(meant) = nearest(name, names.clone()) {
            let path = self.path_of(name);
            let hint = format!("is not a property; did you mean '{meant}'?");
            return Err(Refusal::about(path, hint).or([Fix::Rename(meant.to_owned())]));
        }
        // Among so many names, some word is always near. A typing error seldom hits the first letter.
        let begins = |known: &&str| known.get(..1).is_some_and(|first| starts_with(name, first));
        if let Some(meant) = nearest(name, all_names(self.root).into_iter().filter(begins)) {
            let (path, places) = (self.path_of(name), self.places(meant).join(" or "));
            let problem =
                format!("is not a property; did you mean '{meant}', which belongs {places}?");
            return Err(Refusal::about(&path, problem));
        }
        // A secret may have been taken for a name.
        let (path, problem) = if shape.has_secrets() {
            (shown_path(&self.path), "has an unknown property")
        } else {
            (self.path_of(name), "is not a property")
        };
        let names = names.collect::<Vec<_>>().join(", ");
        let hint = if names.is_empty() {
            "the object has none in this version".to_owned()
        } else {
            format!("known properties are {names}")
        };
        Err(Refusal::about(path, format!("{problem}; {hint}.")))
    }

    /// The path of a property of this object, as messages name it.
    fn path_of(&self, name: &str) -> String {
        let name: String = name.chars().filter(|c| !c.is_control()).take(NAME_CHARS_MAX).collect();
        let mut path = self.path.clone();
        path.push(&name);
        shown_path(&path)
    }

    /// Where a property of this name belongs: the places that are nearest to here.
    fn places(&self, name: &str) -> Vec<String> {
        let mut all = Vec::new();
        collect_places(self.root, name, &mut Vec::new(), &mut all);
        let steps = |place: &Vec<&str>| {
            let common = place.iter().zip(&self.path).take_while(|(a, b)| a == b).count();
            place.len() + self.path.len() - 2 * common
        };
        let nearest = all.iter().map(steps).min();
        let all = all.iter().filter(|place| Some(steps(place)) == nearest);
        all.take(PLACES_MAX).map(|place| shown_place(place)).collect()
    }
}

/// Whether a name begins with these letters, in any case.
fn starts_with(name: &str, letters: &str) -> bool {
    name.get(..letters.len()).is_some_and(|first| first.eq_ignore_ascii_case(letters))
}

/// The names of all properties of an object and of the objects in it.
fn all_names(shape: Shape) -> Vec<&'static str> {
    let (Object(known) | Whole(known)) = shape else { return Vec::new() };
    known.iter().flat_map(|(name, inner)| [vec![*name], all_names(*inner)].concat()).collect()
}

/// Collects the paths of all objects that have a property of this name.
fn collect_places<'a>(
    shape: Shape,
    name: &str,
    path: &mut Vec<&'a str>,
    places: &mut Vec<Vec<&'a str>>,
) {
    if shape.canonical(name).is_some() {
        places.push(path.clone());
    }
    for (inner, shape) in shape.properties() {
        path.push(inner);
        collect_places(shape, name, path, places);
        path.pop();
    }
}

/// The path of a property as messages name it: within `properties`.
fn shown_path(path: &[&str]) -> String {
    match path {
        ["properties", inner @ ..] if !inner.is_empty() => inner.join("."),
        _ => path.join("."),
    }
}

fn shown_place(path: &[&str]) -> String {
    match path {
        [] => "beside 'properties'".to_owned(),
        _ => format!("inside '{}'", shown_path(path)),
    }
}
