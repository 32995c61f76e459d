//! Reads YAML 1.2 as the JSON that it stands for.
//!
//! Names are text, each once in its object; values are those of YAML's core schema, in which a date is
//! text, and `yes`, `no`, `on` and `off` are, too. What JSON has no equal for is refused: tags of one's
//! own, `.nan` and `.inf`, and more than one document. An alias repeats the value of its anchor.

use std::borrow::Cow;
use std::fmt;

use saphyr::Scalar;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};
use serde_json::{Map, Number, Value};

/// How deep values may lie in each other, as in JSON.
const DEPTH_MAX: usize = 127;
/// The most anchors of a text.
const ANCHORS_MAX: usize = 1_000;
/// The most values that aliases may repeat, so that a short text does not become a huge one.
const REPEATED_MAX: usize = 100_000;

/// Why a text is not YAML that stands for JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidYaml {
    line: usize,
    column: usize,
    why: String,
}

impl InvalidYaml {
    fn at(marker: &Marker, why: impl Into<String>) -> Self {
        Self { line: marker.line(), column: marker.col() + 1, why: why.into() }
    }
}

impl fmt::Display for InvalidYaml {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.why)
    }
}

impl From<ScanError> for InvalidYaml {
    fn from(error: ScanError) -> Self {
        Self::at(error.marker(), error.info())
    }
}

/// A list or an object that is not complete yet.
enum Open {
    List(Vec<Value>),
    /// The properties, and the name of the one whose value comes next.
    Object(Map<String, Value>, Option<String>),
}

/// What has been read so far.
#[derive(Default)]
struct Reading {
    /// Whether tags are functions of a template.
    has_functions: bool,
    /// The lists and objects around the next value, each with the number of its anchor or 0, and the
    /// function that it is the argument of.
    open: Vec<(Open, usize, Option<String>)>,
    /// The values of anchors, by their numbers.
    anchors: Vec<(usize, Value)>,
    repeated: usize,
    /// The document; null if it is empty.
    done: Option<Value>,
    documents: usize,
}

/// Reads a text of one document.
///
/// # Errors
///
/// Why it is not YAML that stands for JSON, and where.
pub fn read(text: &str) -> Result<Value, InvalidYaml> {
    Reading::default().read(text)
}

/// Reads a template of `CloudFormation`, whose functions are tags: `!Ref x` stands for `{"Ref": "x"}`, and
/// `!Sub x` for `{"Fn::Sub": "x"}`.
///
/// # Errors
///
/// As those of [`read`].
pub fn read_template(text: &str) -> Result<Value, InvalidYaml> {
    Reading { has_functions: true, ..Reading::default() }.read(text)
}

/// A list or an object around the next value.
struct Around {
    is_object: bool,
    /// How many names of the path lead here; `None` if it is beside the path.
    depth: Option<usize>,
    next: Next,
}

/// What comes next in a list or an object.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Name,
    /// A value, and how many names of the path lead to it.
    Value(Option<usize>),
}

/// The line of the property of this path, or of the innermost object around it that is there. A text of
/// JSON is one of YAML, too.
#[must_use]
pub fn line_of(text: &str, path: &[&str]) -> Option<usize> {
    let (mut open, mut found) = (Vec::<Around>::new(), None);
    // Bounded by the text: each event takes a part of it.
    for event in Parser::new_from_str(text) {
        let (event, span) = event.ok()?;
        match event {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let is_object = matches!(event, Event::MappingStart(..));
                let depth = match open.last() {
                    None => Some(0),
                    Some(Around { next: Next::Value(depth), .. }) => *depth,
                    Some(Around { next: Next::Name, .. }) => None,
                };
                let next = if is_object { Next::Name } else { Next::Value(None) };
                open.push(Around { is_object, depth: depth.filter(|_| is_object), next });
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => drop(open.pop()),
            Event::Scalar(name, ..) => {
                if let Some(around) = open.last_mut().filter(|it| it.next == Next::Name) {
                    let part = around.depth.and_then(|depth| path.get(depth));
                    let is_next = part.is_some_and(|part| part.eq_ignore_ascii_case(&name));
                    let below = around.depth.filter(|_| is_next).map(|depth| depth + 1);
                    around.next = Next::Value(below);
                    if is_next {
                        found = Some(span.start.line());
                    }
                    continue;
                }
            }
            Event::Alias(_) => {}
            _ => continue,
        }
        // A value has ended.
        if let Some(around) = open.last_mut().filter(|around| around.is_object) {
            around.next = Next::Name;
        }
    }
    found
}

impl Reading {
    fn read(mut self, text: &str) -> Result<Value, InvalidYaml> {
        // Bounded by the text: each event takes a part of it.
        for event in Parser::new_from_str(text) {
            let (event, span) = event?;
            self.take(event, &span.start)?;
        }
        Ok(self.done.unwrap_or_default())
    }

    fn take(&mut self, event: Event<'_>, at: &Marker) -> Result<(), InvalidYaml> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    let why = "a second document begins here: write it into a file of its own";
                    return Err(InvalidYaml::at(at, why));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let function = self.function(tag.as_deref(), at)?;
                let tag = tag.filter(|_| function.is_none());
                let value = scalar(text, style, tag.as_deref(), at)?;
                self.add(called(function, value), anchor, at)
            }
            Event::Alias(anchor) => {
                let found = self.anchors.iter().rev().find(|(number, _)| *number == anchor);
                let (_, value) = found
                    .ok_or_else(|| InvalidYaml::at(at, "the anchor contains its own alias"))?;
                let value = value.clone();
                self.repeated += count(&value);
                if self.repeated > REPEATED_MAX {
                    let why = format!("aliases repeat more than {REPEATED_MAX} values");
                    return Err(InvalidYaml::at(at, why));
                }
                self.add(value, 0, at)
            }
            Event::SequenceStart(anchor, tag) => {
                self.begin(Open::List(Vec::new()), anchor, tag.as_deref(), at)
            }
            Event::MappingStart(anchor, tag) => {
                self.begin(Open::Object(Map::new(), None), anchor, tag.as_deref(), at)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some((Open::List(items), anchor, function)) => {
                    self.add(called(function, items.into()), anchor, at)
                }
                Some((Open::Object(object, _), anchor, function)) => {
                    self.add(called(function, object.into()), anchor, at)
                }
                None => Ok(()),
            },
        }
    }

    /// The function that a tag stands for. A tag that YAML itself does not define is refused elsewhere.
    fn function(&self, tag: Option<&Tag>, at: &Marker) -> Result<Option<String>, InvalidYaml> {
        match tag.filter(|tag| !tag.is_yaml_core_schema()) {
            None => Ok(None),
            Some(tag) if self.has_functions && tag.handle == "!" => Ok(Some(match &*tag.suffix {
                name @ ("Ref" | "Condition") => name.to_owned(),
                name => format!("Fn::{name}"),
            })),
            Some(tag) => Err(InvalidYaml::at(
                at,
                format!("the tag '{}{}' is not known here: leave it out", tag.handle, tag.suffix),
            )),
        }
    }

    fn begin(
        &mut self,
        open: Open,
        anchor: usize,
        tag: Option<&Tag>,
        at: &Marker,
    ) -> Result<(), InvalidYaml> {
        let function = self.function(tag, at)?;
        if let Some((Open::Object(_, None), ..)) = self.open.last() {
            return Err(InvalidYaml::at(at, "a name has to be text, not a list or an object"));
        }
        if self.open.len() >= DEPTH_MAX {
            let why = format!("values lie more than {DEPTH_MAX} deep in each other");
            return Err(InvalidYaml::at(at, why));
        }
        self.open.push((open, anchor, function));
        Ok(())
    }

    fn add(&mut self, value: Value, anchor: usize, at: &Marker) -> Result<(), InvalidYaml> {
        if anchor > 0 {
            if self.anchors.len() >= ANCHORS_MAX {
                return Err(InvalidYaml::at(
                    at,
                    format!("there are more than {ANCHORS_MAX} anchors"),
                ));
            }
            self.anchors.push((anchor, value.clone()));
        }
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some((Open::List(items), ..)) => items.push(value),
            Some((Open::Object(object, name @ None), ..)) => {
                let text = match value {
                    Value::String(text) => text,
                    // A number or a word of YAML is a name, too: it is what was written.
                    Value::Number(number) => number.to_string(),
                    Value::Bool(word) => word.to_string(),
                    _ => return Err(InvalidYaml::at(at, "a name has to be text")),
                };
                if text == "<<" {
                    let why = "'<<' does not merge here: repeat the properties, or use an alias as the \
                               whole value";
                    return Err(InvalidYaml::at(at, why));
                }
                if object.contains_key(&text) {
                    return Err(InvalidYaml::at(at, format!("'{text}' stands here a second time")));
                }
                *name = Some(text);
            }
            Some((Open::Object(object, name), ..)) => {
                object.extend(name.take().map(|name| (name, value)));
            }
        }
        Ok(())
    }
}

fn scalar(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
    at: &Marker,
) -> Result<Value, InvalidYaml> {
    let tag = tag.map(Cow::Borrowed);
    let written = text.clone();
    match Scalar::parse_from_cow_and_metadata(text, style, tag.as_ref()) {
        Some(Scalar::Null) => Ok(Value::Null),
        Some(Scalar::Boolean(value)) => Ok(value.into()),
        Some(Scalar::Integer(value)) => Ok(value.into()),
        Some(Scalar::FloatingPoint(value)) => Number::from_f64(value.into_inner())
            .map(Value::Number)
            .ok_or_else(|| InvalidYaml::at(at, format!("'{written}' is not a number of JSON"))),
        Some(Scalar::String(text)) => Ok(text.into_owned().into()),
        None => Err(InvalidYaml::at(at, format!("'{written}' does not fit its tag"))),
    }
}

/// The call of a function with its argument, or the value alone.
fn called(function: Option<String>, argument: Value) -> Value {
    match function {
        None => argument,
        Some(function) => Map::from_iter([(function, argument)]).into(),
    }
}

/// How many values a value has, itself included.
fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(object) => 1 + object.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_text_becomes_what_it_says() {
        let text = "\
# Jobs of the shop
collection: shop
jobs:
  export: &daily
    startTime: 2027-01-01
    state: on
    retries: [0, 1.5, true, ~, 'no', \"a\\tb\"]
    header: {$env: TOKEN}
    body: |
      two
      lines
  again: *daily
  3: {}
";
        let daily = json!({"startTime": "2027-01-01", "state": "on",
            "retries": [0, 1.5, true, null, "no", "a\tb"], "header": {"$env": "TOKEN"},
            "body": "two\nlines\n"});
        assert_eq!(
            read(text).unwrap(),
            json!({"collection": "shop", "jobs": {"export": daily, "again": daily, "3": {}}})
        );
        assert_eq!(read("{\"a\": [1, \"x\"]}").unwrap(), json!({"a": [1, "x"]}));
        assert_eq!(read("").unwrap(), Value::Null);
        assert_eq!(read("# nothing\n").unwrap(), Value::Null);
    }

    #[test]
    fn a_path_leads_to_a_line() {
        let text = "collection: ops\njobs:\n  other: {action: 1}\n  list: [{x: 1}, action]\n  Ping:\n    \
                    startTime: 2027-01-01\n    action:\n      type: Http\n";
        for (path, line) in [
            (&["jobs", "ping", "action", "type"][..], Some(8)),
            (&["jobs", "ping", "action", "request", "method"], Some(7)),
            (&["jobs", "ping", "recurrence"], Some(5)),
            (&["jobs", "other", "action"], Some(3)),
            (&["jobs", "none"], Some(2)),
            (&["properties"], None),
            (&[], None),
        ] {
            assert_eq!(line_of(text, path), line, "{path:?}");
        }
        assert_eq!(line_of("{\"jobs\":\n {\"a\":\n {\"b\": 1}}}", &["jobs", "a", "b"]), Some(3));
        assert_eq!(line_of("a: [", &["a"]), None);
    }

    #[test]
    fn tags_of_a_template_are_functions() {
        let text =
            "a: !Ref X\nb: !GetAtt [Q, Arn]\nc: !Sub '${X}-1'\nd: !Join [':', [!Ref X, 2]]\n";
        assert_eq!(
            read_template(text),
            Ok(json!({
                "a": {"Ref": "X"}, "b": {"Fn::GetAtt": ["Q", "Arn"]}, "c": {"Fn::Sub": "${X}-1"},
                "d": {"Fn::Join": [":", [{"Ref": "X"}, 2]]},
            }))
        );
        assert!(read(text).is_err());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let deep = "- ".repeat(200_000);
        let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
                    c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
                    e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n";
        for (text, place, says) in [
            ("a: 1\nb: [1, 2\nc: 3\n", "line ", ""),
            ("a:\n\tb: 1\n", "line 2, column ", ""),
            ("a: 1\na: 2\n", "line 2, column 1: ", "'a' stands here a second time"),
            ("a: !secret x\n", "line 1, column 4: ", "the tag '!secret' is not known here"),
            ("a: .nan\n", "line 1, column 4: ", "'.nan' is not a number of JSON"),
            ("? [a]\n: 1\n", "line 1, column 3: ", "a name has to be text"),
            ("a: 1\n---\nb: 2\n", "line 2, column 1: ", "write it into a file of its own"),
            ("b: &b {x: 1}\na:\n  <<: *b\n", "line 3, column 3: ", "'<<' does not merge here"),
            ("a: &a [*a]\n", "line 1, column ", ""),
            ("a: *b\n", "line 1, column ", ""),
            (&deep, "line 1, column 255: ", "values lie more than 127 deep"),
            (bomb, "line 6, column ", "aliases repeat more than 100000 values"),
        ] {
            let error = read(text).unwrap_err().to_string();
            let text: String = text.chars().take(40).collect();
            assert!(error.starts_with(place) && error.contains(says), "{text:?}: {error}");
        }
    }
}
