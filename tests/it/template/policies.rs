//! What each function's role allows, beside what the function does.
//!
//! Calls of the table are noted where they leave, while everything that can happen is played by the
//! real services: so a call that a role does not allow is found, and what it allows and nobody does,
//! too. Of the other services the calls stand in the sources of their adapters.

use std::collections::BTreeSet;

use sealer_kms::CONTEXT;
use serde_json::{Value, json};

use super::Template;
use super::sources::{Source, sdk_calls};
use crate::fire::watch::{Call, Function, everything};

/// A statement that allows.
struct Allows<'a> {
    actions: Vec<&'a str>,
    resource: &'a Value,
    /// The condition of the template without which it is left out.
    condition: Option<&'a str>,
    /// Patterns of the keys `dynamodb:LeadingKeys`; none means any.
    partitions: Option<Vec<&'a str>>,
    only_in_transactions: bool,
}

const ROLES: [(Function, &str); 3] = [
    (Function::Api, "ApiRole"),
    (Function::Sweeper, "SweeperRole"),
    (Function::Executor, "ExecutorRole"),
];

#[tokio::test]
async fn roles_allow_what_functions_do_with_the_table_and_nothing_else() {
    let template = Template::read();
    let calls = everything().await;
    let mut problems = Vec::new();
    for (function, role) in ROLES {
        let calls: Vec<&Call> = calls.iter().filter(|call| call.function == function).collect();
        let allowed = statements(&template, role);
        let refused =
            calls.iter().filter(|call| !call.ways().all(|way| is_allowed(&allowed, call, way)));
        problems.extend(refused.map(|call| format!("{role} does not allow {call:?}")));
        let permissions = allowed.iter().flat_map(Allows::of_the_table);
        let idle = permissions.filter(|it| !calls.iter().any(|call| it.is_used_by(call)));
        problems.extend(idle.map(|it| format!("{role} allows {it:?}, which is not done")));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[tokio::test]
async fn what_is_played_makes_every_call_of_the_store_that_there_is() {
    // On AWS the template creates the table, and the table itself removes expired items.
    let elsewhere = ["schema.rs", "expired.rs"];
    let folders = ["shared/store-dynamodb/src", "shared/store-dynamodb/src/table"];
    let sources: Vec<_> = folders.into_iter().flat_map(Source::of).collect();
    let sources = sources.iter().filter(|it| !elsewhere.contains(&it.file.as_str()));
    let there_are: BTreeSet<String> = sources.flat_map(|it| sdk_calls(&it.text)).collect();
    let made: BTreeSet<String> = everything().await.iter().map(Call::in_the_sdk).collect();
    assert_eq!(there_are, made);
}

/// A call of another service, and how it is seen that a function makes it.
struct Other {
    adapter: &'static str,
    sdk_call: &'static str,
    action: &'static str,
    /// What stands in the sources of a function that makes it; nothing if whoever has the adapter does.
    sign: Option<&'static str>,
}

const OTHERS: [Other; 5] = [
    Other {
        adapter: "queue-sqs",
        sdk_call: "send_message_batch",
        action: "sqs:SendMessage",
        sign: None,
    },
    Other {
        adapter: "queue-sqs",
        sdk_call: "change_message_visibility_batch",
        action: "sqs:ChangeMessageVisibility",
        sign: Some(".put_back("),
    },
    Other {
        adapter: "events-eventbridge",
        sdk_call: "put_events",
        action: "events:PutEvents",
        sign: None,
    },
    // Managing seals; firing only opens, as the last assertion of the test says.
    Other {
        adapter: "sealer-kms",
        sdk_call: "generate_data_key",
        action: "kms:GenerateDataKey",
        sign: Some("Manage::new("),
    },
    Other { adapter: "sealer-kms", sdk_call: "decrypt", action: "kms:Decrypt", sign: None },
];

/// What Lambda does in the name of a function, to bring it messages.
const DELIVERIES: [&str; 3] = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
/// And what to keep its log.
const LOG: [&str; 2] = ["logs:CreateLogStream", "logs:PutLogEvents"];

/// What jobs ask of AWS in the executor's name, by the way in which it is asked for.
const OF_JOBS: [(&str, &str); 4] = [
    ("\"AmazonSQS.SendMessage\"", "sqs:SendMessage"),
    (".append_pair(\"Action\", \"Publish\")", "sns:Publish"),
    ("/invocations\"", "lambda:InvokeFunction"),
    ("\"AWSEvents.PutEvents\"", "events:PutEvents"),
];

#[test]
fn what_jobs_ask_of_aws_is_allowed_to_the_executor_alone_and_only_where_it_is_listed() {
    let template = Template::read();
    let listed = json!({"Fn::Split": [",", {"Ref": "ActionArns"}]});
    for (function, role) in ROLES {
        let statements = statements(&template, role);
        let (of_jobs, others): (Vec<_>, Vec<_>) =
            statements.into_iter().partition(|it| it.condition.is_some());
        assert!(others.iter().all(|it| !it.resource.to_string().contains("ActionArns")), "{role}");
        if function != Function::Executor {
            assert!(of_jobs.is_empty(), "{role} has what may be left out");
            continue;
        }
        let [of_jobs] = of_jobs.as_slice() else { panic!("{role} has one statement for jobs") };
        assert_eq!(of_jobs.actions, OF_JOBS.map(|(_, action)| action));
        assert_eq!(*of_jobs.resource, listed);
        // An empty list would be no policy at all.
        assert_eq!(of_jobs.condition, Some("SendsToAws"));
        let is_given = json!({"Fn::Not": [{"Fn::Equals": [{"Ref": "ActionArns"}, ""]}]});
        assert_eq!(*template.condition("SendsToAws"), is_given);
    }
}

#[test]
fn jobs_ask_nothing_else_of_aws() {
    let sources = Source::of("shared/actions/src/aws");
    let requests = sources.iter().find(|it| it.file == "requests.rs").unwrap();
    for (sign, action) in OF_JOBS {
        assert!(requests.text.contains(sign), "nothing asks for {action}");
    }
    let asks = sources.iter().map(|it| it.text.matches("-> Ask {").count()).sum::<usize>();
    // One for each, and the one that those in JSON share.
    assert_eq!(asks, OF_JOBS.len() + 1);
}

#[test]
fn roles_allow_what_functions_ask_of_other_services_and_nothing_else() {
    let template = Template::read();
    for (function, role) in ROLES {
        let folder = function.folder();
        let manifest = Source::read(&format!("{folder}/Cargo.toml"));
        let sources = Source::of(&format!("{folder}/src"));
        let contains = |sign: &str| sources.iter().any(|it| it.text.contains(sign));
        let made = OTHERS.iter().filter(|it| {
            manifest.contains(&format!("{}.workspace", it.adapter)) && it.sign.is_none_or(contains)
        });
        let mut expected: BTreeSet<&str> = made.map(|it| it.action).chain(LOG).collect();
        if function == Function::Executor {
            expected.extend(DELIVERIES);
        }
        let always = statements(&template, role).into_iter().filter(|it| it.condition.is_none());
        let allowed = always.flat_map(|it| it.actions);
        let allowed: BTreeSet<&str> = allowed.filter(|it| !it.starts_with("dynamodb:")).collect();
        assert_eq!(allowed, expected, "left: what {role} allows");
    }
    let firing = Source::of("shared/app/src/fire");
    assert!(!firing.iter().any(|it| it.text.contains(".seal(")), "firing seals, now");
}

#[test]
fn there_are_no_other_calls_of_other_services() {
    let mut found = BTreeSet::new();
    for adapter in ["queue-sqs", "events-eventbridge", "sealer-kms"] {
        for source in Source::of(&format!("shared/{adapter}/src")) {
            found.extend(sdk_calls(&source.text).map(|call| (adapter, call)));
        }
    }
    let known = OTHERS.iter().map(|it| (it.adapter, it.sdk_call.to_owned()));
    assert_eq!(found, known.collect());
}

fn is_allowed(allowed: &[Allows<'_>], call: &Call, partitions: &BTreeSet<String>) -> bool {
    allowed.iter().any(|it| it.allows(call, partitions))
}

/// The least that a statement allows: one action on the partitions of one pattern.
#[derive(Debug)]
struct Permission<'a> {
    action: &'a str,
    index: Option<&'a str>,
    pattern: Option<&'a str>,
    only_in_transactions: bool,
}

impl Permission<'_> {
    fn is_used_by(&self, call: &Call) -> bool {
        let touches = |pattern| call.ways().flatten().any(|it| matches(pattern, it));
        call.action == self.action
            && call.index.as_deref() == self.index
            && (call.transaction.is_some() || !self.only_in_transactions)
            && self.pattern.is_none_or(touches)
    }
}

impl Function {
    fn folder(self) -> &'static str {
        match self {
            Self::Api => "functions/api",
            Self::Sweeper => "functions/sweeper",
            Self::Executor => "functions/executor",
        }
    }
}

impl Call {
    /// As the SDK calls it: `dynamodb:GetItem` is `get_item`.
    fn in_the_sdk(&self) -> String {
        if self.transaction.is_some() {
            return "transact_write_items".to_owned();
        }
        let name = self.action.strip_prefix("dynamodb:").unwrap();
        let snake = name.chars().flat_map(|it| {
            let gap = it.is_uppercase().then_some('_');
            gap.into_iter().chain(it.to_lowercase())
        });
        snake.skip(1).collect()
    }

    /// What a policy may be asked about: a write of a transaction by itself, or all that is in it,
    /// since how that is judged is written down nowhere.
    fn ways(&self) -> impl Iterator<Item = &BTreeSet<String>> {
        std::iter::once(&self.partitions).chain(&self.transaction)
    }
}

impl<'a> Allows<'a> {
    fn allows(&self, call: &Call, partitions: &BTreeSet<String>) -> bool {
        let is_named = |it: &String| {
            let mut patterns = self.partitions.iter().flatten();
            patterns.any(|pattern| matches(pattern, it))
        };
        self.actions.contains(&call.action.as_str())
            && call.index.as_deref() == self.index()
            && (call.transaction.is_some() || !self.only_in_transactions)
            && (self.partitions.is_none() || partitions.iter().all(is_named))
    }

    /// The index that it is about, if it is not about the table itself.
    fn index(&self) -> Option<&'a str> {
        self.resource["Fn::Sub"].as_str()?.strip_prefix("${Table.Arn}/index/")
    }

    fn of_the_table(&self) -> Vec<Permission<'a>> {
        let patterns = match &self.partitions {
            Some(patterns) => patterns.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let actions = self.actions.iter().filter(|action| action.starts_with("dynamodb:"));
        let permission = |action: &'a str, pattern| Permission {
            action,
            index: self.index(),
            pattern,
            only_in_transactions: self.only_in_transactions,
        };
        actions
            .flat_map(|action| patterns.iter().map(move |pattern| permission(action, *pattern)))
            .collect()
    }
}

/// Whether a pattern of a policy fits, which ends with the one star that it has.
fn matches(pattern: &str, partition: &str) -> bool {
    pattern.strip_suffix('*') == Some(partition)
}

fn statements<'a>(template: &'a Template, role: &str) -> Vec<Allows<'a>> {
    let policies = template.properties(role)["Policies"].as_array().unwrap();
    let statements =
        policies.iter().flat_map(|it| it["PolicyDocument"]["Statement"].as_array().unwrap());
    statements.map(read_with_condition).collect()
}

/// Reads a statement, which may stand under a condition of the template, or not at all.
fn read_with_condition(statement: &Value) -> Allows<'_> {
    let Some(choice) = statement.get("Fn::If") else { return read(statement) };
    assert_eq!(choice[2], json!({"Ref": "AWS::NoValue"}), "{choice}");
    Allows { condition: choice[0].as_str(), ..read(&choice[1]) }
}

/// Reads a statement, and knows all that is in it: what it did not know might allow more.
fn read(statement: &Value) -> Allows<'_> {
    assert_eq!(statement["Effect"], "Allow");
    let mut allows = Allows {
        actions: texts(&statement["Action"]),
        resource: &statement["Resource"],
        condition: None,
        partitions: None,
        only_in_transactions: false,
    };
    assert_ne!(allows.resource, "*", "{statement}");
    let context = format!("kms:EncryptionContext:{}", CONTEXT.0);
    for (operator, keys) in statement["Condition"].as_object().into_iter().flatten() {
        for (key, values) in keys.as_object().unwrap() {
            match (operator.as_str(), key.as_str()) {
                ("ForAllValues:StringLike", "dynamodb:LeadingKeys") => {
                    allows.partitions = Some(texts(values));
                }
                ("ForAnyValue:StringEquals", "dynamodb:EnclosingOperation") => {
                    assert_eq!(texts(values), ["TransactWriteItems"]);
                    allows.only_in_transactions = true;
                }
                ("StringEquals", key) if key == context => assert_eq!(values, CONTEXT.1),
                _ => panic!("{operator} of {key} is a condition that this test cannot judge"),
            }
        }
    }
    allows
}

/// One text, or several.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        list => list.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect(),
    }
}
