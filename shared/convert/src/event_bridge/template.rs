//! Templates of `CloudFormation` and SAM, with their parameters.
//!
//! References to resources are known after the deployment only. Their values are given as parameters
//! by the words of the template: `Queue`, `Queue.Arn`. So are `AWS::Region` and `AWS::AccountId`.

use serde_json::{Map, Value, json};

use crate::ConvertOptions;
use crate::document::{property, set, text};
use crate::draft::Drafts;
use crate::report::{ProblemKind, SourcePlace};
use crate::secrets;
use crate::unsayable::{Unsayable, quoted};

use super::{Source, add};

/// What a resolved target has in place of the ARN of an API destination: the request.
pub(super) const DESTINATION: &str = "\u{0}destination";

/// How deep functions of a template may be nested.
const DEPTH_MAX: usize = 32;

/// A template, or none around a schedule that stands alone.
pub(super) struct Template<'a> {
    parameters: Option<&'a Map<String, Value>>,
    resources: Option<&'a Map<String, Value>>,
    options: &'a ConvertOptions,
}

/// Converts the schedules of a template.
pub(super) fn convert(
    document: &Map<String, Value>,
    resources: &Map<String, Value>,
    options: &ConvertOptions,
    drafts: &mut Drafts,
) -> Result<(), Unsayable> {
    let parameters = document.get("Parameters").and_then(Value::as_object);
    let template = Template { parameters, resources: Some(resources), options };
    for (id, resource) in resources {
        let Some(resource) = resource.as_object() else {
            continue;
        };
        let empty = Map::new();
        let properties = property(resource, "Properties").and_then(Value::as_object);
        let properties = properties.unwrap_or(&empty);
        let place = SourcePlace::Path(format!("Resources.{id}.Properties"));
        match text(resource, "Type").unwrap_or_default() {
            "AWS::Scheduler::Schedule" | "AWS::Events::Rule" => {
                let name = template.name(properties, id);
                add(&Source { name, properties, place: &place, template: &template }, drafts)?;
            }
            "AWS::Serverless::Function" => {
                template.add_events(id, properties, &place, drafts)?;
            }
            _ => {}
        }
    }
    if drafts.is_empty() {
        let why = "the template has no schedule";
        let unsayable = Unsayable::new(why, "give the template of the stack that has them");
        drafts.note(ProblemKind::Refused, SourcePlace::File, unsayable);
    }
    Ok(())
}

impl<'a> Template<'a> {
    /// No template: a schedule as the scheduler answers it.
    pub(super) const fn none(options: &'a ConvertOptions) -> Self {
        Self { parameters: None, resources: None, options }
    }

    /// The name of a resource, or its id if the name is made at the deployment.
    fn name(&self, properties: &Map<String, Value>, id: &str) -> String {
        let name = property(properties, "Name").and_then(|name| self.resolve(name).ok());
        name.as_ref().and_then(Value::as_str).unwrap_or(id).to_owned()
    }

    /// Adds the schedules of a function of SAM.
    fn add_events(
        &self,
        id: &str,
        function: &Map<String, Value>,
        place: &SourcePlace,
        drafts: &mut Drafts,
    ) -> Result<(), Unsayable> {
        let events = property(function, "Events").and_then(Value::as_object);
        for (event_id, event) in events.into_iter().flatten() {
            let kind = event.get("Type").and_then(Value::as_str).unwrap_or_default();
            let properties = event.get("Properties").and_then(Value::as_object);
            let (true, Some(properties)) = (kind.starts_with("Schedule"), properties) else {
                continue;
            };
            let mut schedule = properties.clone();
            if let Some(expression) = schedule.remove("Schedule") {
                schedule.insert("ScheduleExpression".to_owned(), expression);
            }
            if schedule.get("Enabled") == Some(&Value::Bool(false)) {
                schedule.insert("State".to_owned(), "DISABLED".into());
            }
            let mut target = Map::new();
            target.insert("Arn".to_owned(), json!({"Fn::GetAtt": [id, "Arn"]}));
            for name in ["Input", "RetryPolicy", "DeadLetterConfig"] {
                if let Some(value) = schedule.remove(name) {
                    target.insert(name.to_owned(), value);
                }
            }
            let (name, target) = (self.name(&schedule, event_id), Value::from(target));
            if kind == "Schedule" {
                schedule.insert("Targets".to_owned(), json!([target]));
            } else {
                schedule.insert("Target".to_owned(), target);
            }
            let place = place.within("Events").within(event_id);
            add(&Source { name, properties: &schedule, place: &place, template: self }, drafts)?;
        }
        Ok(())
    }

    /// A value with the results of its functions.
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, Unsayable> {
        self.at_depth(value, 0)
    }

    fn at_depth(&self, value: &Value, depth: usize) -> Result<Value, Unsayable> {
        if depth > DEPTH_MAX {
            let why = format!("functions are nested more than {DEPTH_MAX} deep");
            return Err(Unsayable::new(why, "write the value"));
        }
        match value {
            Value::Object(map) => {
                if let (Some(_), Some((function, argument)), 1) =
                    (self.resources, map.iter().next(), map.len())
                    && (function == "Ref" || function.starts_with("Fn::"))
                {
                    return self.call(function, argument, depth + 1);
                }
                let mut resolved = Map::new();
                for (name, value) in map {
                    if name == "RoleArn" {
                        // The role of the scheduler, whose ARN is known after the deployment.
                        continue;
                    }
                    let destination = (name == "Arn").then(|| self.destination(value)).flatten();
                    if let Some(destination) = destination {
                        resolved.insert(DESTINATION.to_owned(), destination?);
                        resolved.insert(name.clone(), "arn:of:an:api:destination:".into());
                    } else {
                        resolved.insert(name.clone(), self.at_depth(value, depth + 1)?);
                    }
                }
                Ok(resolved.into())
            }
            Value::Array(list) => {
                list.iter().map(|value| self.at_depth(value, depth + 1)).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
        }
    }

    fn call(&self, function: &str, argument: &Value, depth: usize) -> Result<Value, Unsayable> {
        match (function, argument, argument.as_array().map(Vec::as_slice)) {
            ("Ref", Value::String(name), _) => self.reference(name),
            ("Fn::GetAtt", Value::String(path), _) => self.reference(path),
            ("Fn::GetAtt", _, Some(parts)) => {
                let parts: Option<Vec<&str>> = parts.iter().map(Value::as_str).collect();
                self.reference(&parts.unwrap_or_default().join("."))
            }
            ("Fn::ImportValue", name, _) => {
                let name = self.at_depth(name, depth)?;
                self.reference(name.as_str().unwrap_or_default())
            }
            ("Fn::Sub", Value::String(text), _) => self.substitute(text, &Map::new(), depth),
            ("Fn::Sub", _, Some([Value::String(text), Value::Object(values)])) => {
                self.substitute(text, values, depth)
            }
            ("Fn::Join", _, Some([Value::String(between), list])) => {
                let list = self.at_depth(list, depth)?;
                let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
                let texts: Result<Vec<String>, _> = list.iter().map(as_text).collect();
                Ok(texts?.join(between).into())
            }
            _ => Err(unknown_function(function)),
        }
    }

    /// Replaces `${Name}` in a text; `${!Name}` is `${Name}`.
    fn substitute(
        &self,
        text: &str,
        values: &Map<String, Value>,
        depth: usize,
    ) -> Result<Value, Unsayable> {
        let mut done = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            done.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                done.push_str("${");
                rest = after;
                continue;
            };
            if let Some(literal) = name.strip_prefix('!') {
                done.extend(["${", literal, "}"]);
            } else {
                let value = match values.get(name) {
                    Some(value) => self.at_depth(value, depth)?,
                    None => self.reference(name)?,
                };
                done.push_str(&as_text(&value)?);
            }
            rest = after;
        }
        done.push_str(rest);
        Ok(done.into())
    }

    /// The value of a parameter, of a resource (`Queue`), or of its attribute (`Queue.Arn`).
    fn reference(&self, name: &str) -> Result<Value, Unsayable> {
        let parameter = self.parameters.and_then(|parameters| parameters.get(name));
        let is_secret = parameter.and_then(|known| known.get("NoEcho")).is_some_and(is_true);
        let default = parameter.and_then(|known| known.get("Default"));
        let given = self.options.parameter(name);
        match (given.or(default), name) {
            (Some(value), _) if is_secret => Ok(secrets::mark(as_text(value).ok().as_deref())),
            (Some(value), _) => Ok(value.clone()),
            (None, _) if is_secret => Ok(secrets::mark(None)),
            (None, "AWS::NoValue") => Ok(Value::Null),
            (None, "AWS::Partition") => Ok("aws".into()),
            (None, "AWS::URLSuffix") => Ok("amazonaws.com".into()),
            (None, _) => self.named_resource(name).ok_or_else(|| {
                let why = format!("the value of {} is known after the deployment", quoted(name));
                Unsayable::new(why, format!("give it as the parameter {}", quoted(name)))
            }),
        }
    }

    /// What a reference to a resource with a fixed name stands for.
    fn named_resource(&self, reference: &str) -> Option<Value> {
        let (id, attribute) = reference.split_once('.').unwrap_or((reference, ""));
        let resource = self.resources?.get(id)?;
        let properties = resource.get("Properties")?.as_object()?;
        let name = |name| {
            let name = self.resolve(property(properties, name)?).ok()?;
            name.as_str().map(str::to_owned)
        };
        let given = |name| self.options.parameter(name).and_then(Value::as_str);
        let partition = given("AWS::Partition").unwrap_or("aws");
        let (region, account) = (given("AWS::Region")?, given("AWS::AccountId")?);
        let arn = |service: &str, rest: &str| {
            Some(format!("arn:{partition}:{service}:{region}:{account}:{rest}").into())
        };
        match (resource.get("Type")?.as_str()?, attribute) {
            ("AWS::SQS::Queue", "Arn") => arn("sqs", &name("QueueName")?),
            ("AWS::SNS::Topic", "" | "TopicArn") => arn("sns", &name("TopicName")?),
            ("AWS::Lambda::Function" | "AWS::Serverless::Function", "Arn") => {
                arn("lambda", &format!("function:{}", name("FunctionName")?))
            }
            ("AWS::Events::EventBus", "Arn") => {
                arn("events", &format!("event-bus/{}", name("Name")?))
            }
            _ => None,
        }
    }

    /// The request to an API destination, if a value is its ARN.
    fn destination(&self, arn: &Value) -> Option<Result<Value, Unsayable>> {
        let id = referenced_resource(arn)?;
        let resource = self.resources?.get(id)?;
        if resource.get("Type")?.as_str()? != "AWS::Events::ApiDestination" {
            return None;
        }
        Some(self.request(resource.get("Properties")?.as_object()?))
    }

    fn request(&self, destination: &Map<String, Value>) -> Result<Value, Unsayable> {
        let missing = |name: &str| {
            let why = format!("the API destination has no {name}");
            Unsayable::new(why, "give the template with the whole destination")
        };
        let get = |name: &str| property(destination, name).ok_or_else(|| missing(name));
        let uri = self.resolve(get("InvocationEndpoint")?)?;
        let method = self.resolve(get("HttpMethod")?)?;
        let mut request = json!({"uri": uri, "method": method});
        let connection = property(destination, "ConnectionArn")
            .and_then(referenced_resource)
            .and_then(|id| self.resources?.get(id)?.get("Properties")?.as_object());
        let Some(connection) = connection else {
            let why = "the connection of the API destination is not in the template";
            return Err(Unsayable::new(
                why,
                "give the template that has it, or write the job by hand",
            ));
        };
        let parameters = property(connection, "AuthParameters").and_then(Value::as_object);
        if let Some(parameters) = parameters {
            self.authenticate(&mut request, parameters)?;
        }
        Ok(request)
    }

    /// Adds the authentication of a connection to a request.
    fn authenticate(
        &self,
        request: &mut Value,
        parameters: &Map<String, Value>,
    ) -> Result<(), Unsayable> {
        let resolved = |of: &Map<String, Value>, name: &str| {
            property(of, name).map_or(Ok(Value::Null), |value| self.resolve(value))
        };
        // A secret that the template takes from elsewhere is not in it.
        let secret = |value: Value| match value.as_str() {
            _ if secrets::marked(&value).is_some() => value,
            Some(text) if !text.contains("{{resolve:") => secrets::mark(Some(text)),
            _ => secrets::mark(None),
        };
        let part = |name: &str| property(parameters, name).and_then(Value::as_object);
        if part("OAuthParameters").is_some() {
            let why = "the connection gets a token by OAuth from a server of its own";
            let remedy =
                "write the job by hand; ActiveDirectoryOAuth gets tokens by client credentials";
            return Err(Unsayable::new(why, remedy));
        }
        if let Some(basic) = part("BasicAuthParameters") {
            let basic = json!({
                "type": "Basic",
                "username": resolved(basic, "Username")?,
                "password": secret(self.secret_value(basic, "Password")),
            });
            set(request, "authentication", basic);
        }
        if let Some(key) = part("ApiKeyAuthParameters") {
            let name = resolved(key, "ApiKeyName")?;
            let name = name.as_str().unwrap_or_default().to_owned();
            let value = secret(self.secret_value(key, "ApiKeyValue"));
            set(request, "headers", json!({name: value}));
        }
        Ok(())
    }

    /// A secret; null if the template takes it from a place that is known after the deployment.
    fn secret_value(&self, of: &Map<String, Value>, name: &str) -> Value {
        property(of, name).and_then(|value| self.resolve(value).ok()).unwrap_or_default()
    }
}

/// The resource that a `Ref` or a `Fn::GetAtt` refers to.
fn referenced_resource(value: &Value) -> Option<&str> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    if let Some(id) = map.get("Ref") {
        return id.as_str();
    }
    match map.get("Fn::GetAtt")? {
        Value::String(path) => path.split('.').next(),
        Value::Array(parts) => parts.first()?.as_str(),
        _ => None,
    }
}

/// A value as a part of a text.
fn as_text(value: &Value) -> Result<String, Unsayable> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        Value::Null => Ok(String::new()),
        Value::Object(_) | Value::Array(_) => Err(Unsayable::new(
            "a part of a text is not a text, or a secret without a place of its own",
            "write the whole text",
        )),
    }
}

fn is_true(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str().is_some_and(|text| text == "true"))
}

fn unknown_function(function: &str) -> Unsayable {
    let why = format!("the function {} is not read here", quoted(function));
    Unsayable::new(why, "write the value, or give the template that the deployment made of it")
}
