//! Compares the permissions of each function's role with the requests that the function sends.
//!
//! For the table, the real services play through every situation while their requests are recorded. The
//! tests find requests that a role does not allow, and permissions that no request needs. For other
//! services, the tests look for SDK calls in the sources of the adapters.

use std::collections::BTreeSet;

use minutehand_sealer_kms::CONTEXT;
use serde_json::{Value, json};

use super::Template;
use super::sources::{Source, in_snake_case, sdk_calls};
use crate::fire::watch::{Call, Function, everything};

/// A statement of a policy with the effect `Allow`.
struct Allows<'a> {
    actions: Vec<&'a str>,
    resource: &'a Value,
    /// The template condition under which the statement exists.
    condition: Option<&'a str>,
    /// The patterns of `dynamodb:LeadingKeys`; `None` if all partitions are allowed.
    partitions: Option<Vec<&'a str>>,
    only_in_transactions: bool,
}

const ROLES: [(Function, &str); 3] = [
    (Function::Api, "ApiRole"),
    (Function::Sweeper, "SweeperRole"),
    (Function::Executor, "ExecutorRole"),
];

#[tokio::test]
async fn roles_allow_exactly_the_table_requests_of_their_functions() {
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
        problems.extend(idle.map(|it| format!("{role} allows {it:?}, which no request needs")));
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

#[tokio::test]
async fn the_recorded_requests_include_every_sdk_call_of_the_store() {
    // On AWS the template creates the table, the table itself removes expired items, and nothing counts
    // jobs by state, so nothing scans.
    let elsewhere = ["schema.rs", "scan.rs", "expired.rs", "states.rs"];
    let folders = ["shared/store-dynamodb/src", "shared/store-dynamodb/src/table"];
    let sources: Vec<_> = folders.into_iter().flat_map(Source::of).collect();
    let sources = sources.iter().filter(|it| !elsewhere.contains(&it.file.as_str()));
    let there_are: BTreeSet<String> = sources.flat_map(|it| sdk_calls(&it.text)).collect();
    let made: BTreeSet<String> = everything().await.iter().map(Call::in_the_sdk).collect();
    assert_eq!(there_are, made);
}

/// An SDK call of another service than DynamoDB.
struct Other {
    adapter: &'static str,
    sdk_call: &'static str,
    action: &'static str,
    /// A text in the sources of the functions that make the call; `None` if every function with the
    /// adapter makes it.
    sign: Option<&'static str>,
}

/// Only the API looks at dead letters.
const DEAD_LETTERS: Option<&str> = Some("SqsDeadLetters::new(");

const OTHERS: [Other; 11] = [
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
        adapter: "queue-sqs",
        sdk_call: "get_queue_attributes",
        action: "sqs:GetQueueAttributes",
        sign: DEAD_LETTERS,
    },
    Other {
        adapter: "queue-sqs",
        sdk_call: "get_queue_attributes",
        action: "sqs:GetQueueAttributes",
        sign: Some("queue.waiting("),
    },
    Other {
        adapter: "queue-sqs",
        sdk_call: "receive_message",
        action: "sqs:ReceiveMessage",
        sign: DEAD_LETTERS,
    },
    Other {
        adapter: "queue-sqs",
        sdk_call: "delete_message_batch",
        action: "sqs:DeleteMessage",
        sign: DEAD_LETTERS,
    },
    Other {
        adapter: "queue-sqs",
        sdk_call: "start_message_move_task",
        action: "sqs:StartMessageMoveTask",
        sign: DEAD_LETTERS,
    },
    Other {
        adapter: "queue-sqs",
        sdk_call: "purge_queue",
        action: "sqs:PurgeQueue",
        sign: DEAD_LETTERS,
    },
    Other {
        adapter: "events-eventbridge",
        sdk_call: "put_events",
        action: "events:PutEvents",
        sign: None,
    },
    // The API seals secrets, and both seal the key of reports. The executor opens secrets, as the last assertion
    // of the test checks.
    Other {
        adapter: "sealer-kms",
        sdk_call: "generate_data_key",
        action: "kms:GenerateDataKey",
        sign: Some("StoredKey::new("),
    },
    Other { adapter: "sealer-kms", sdk_call: "decrypt", action: "kms:Decrypt", sign: None },
];

/// The actions that Lambda needs in the role of a function to poll its queue.
const DELIVERIES: [&str; 3] = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"];
/// The actions that Lambda needs to write the log.
const LOG: [&str; 2] = ["logs:CreateLogStream", "logs:PutLogEvents"];

/// The requests that jobs send to AWS: a text in the code that sends each, and the permission it needs.
const OF_JOBS: [(&str, &str); 4] = [
    ("\"AmazonSQS.SendMessage\"", "sqs:SendMessage"),
    (".append_pair(\"Action\", \"Publish\")", "sns:Publish"),
    ("/invocations\"", "lambda:InvokeFunction"),
    ("\"AWSEvents.PutEvents\"", "events:PutEvents"),
];

#[test]
fn only_the_role_for_actions_may_send_for_jobs_and_only_to_the_listed_arns() {
    let template = Template::read();
    let listed = json!({"Fn::Split": [",", {"Ref": "ActionArns"}]});
    for (_, role) in ROLES {
        for statement in statements(&template, role) {
            assert!(!statement.resource.to_string().contains("ActionArns"), "{role}");
        }
    }
    assert!(template.properties("ActionsRole").get("Policies").is_none());
    let allowed = statements(&template, "ActionsRole");
    let [of_jobs] = allowed.as_slice() else { panic!("one statement allows what jobs need") };
    assert_eq!(of_jobs.actions, OF_JOBS.map(|(_, action)| action));
    assert_eq!(*of_jobs.resource, listed);
    let told =
        &template.properties("ApiFunction")["Environment"]["Variables"]["MINUTEHAND_ACTIONS"];
    assert_eq!(told["Fn::If"], json!(["SendsToAws", "on", "off"]));
    // A statement with an empty list of resources would be invalid.
    assert_eq!(of_jobs.condition, Some("SendsToAws"));
    assert_eq!(template.resource("ActionsRole")["Condition"], "SendsToAws");
    let is_given = json!({"Fn::Not": [{"Fn::Equals": [{"Ref": "ActionArns"}, ""]}]});
    assert_eq!(*template.condition("SendsToAws"), is_given);
}

#[test]
fn only_the_executor_may_assume_the_role_for_actions() {
    let template = Template::read();
    let trust = &template.properties("ActionsRole")["AssumeRolePolicyDocument"]["Statement"];
    let [trust] = trust.as_array().unwrap().as_slice() else { panic!("one statement") };
    assert_eq!(trust["Principal"], json!({"AWS": {"Fn::GetAtt": ["ExecutorRole", "Arn"]}}));
    let role = json!({"Fn::GetAtt": ["ActionsRole", "Arn"]});
    for (function, name) in ROLES {
        let statements = statements(&template, name);
        let assumes: Vec<_> =
            statements.iter().filter(|it| it.actions == ["sts:AssumeRole"]).collect();
        assert_eq!(assumes.len(), usize::from(function == Function::Executor), "{name}");
        assert!(assumes.iter().all(|it| *it.resource == role), "{name}");
    }
    let given = &template.properties("ExecutorFunction")["Environment"]["Variables"]["MINUTEHAND_ACTIONS_ROLE"];
    assert_eq!(given["Fn::If"], json!(["SendsToAws", role, {"Ref": "AWS::NoValue"}]));
}

/// Whatever `ActionArns` lists.
#[test]
fn jobs_never_send_to_the_queues_functions_and_bus_of_the_scheduler() {
    let template = Template::read();
    let denied = denials(&template, "ActionsRole");
    let [denied] = denied.as_slice() else { panic!("one statement denies") };
    let with_queue = ["sqs:SendMessage", "lambda:InvokeFunction", "events:PutEvents"];
    assert_eq!(texts(&denied["Action"]), with_queue);
    assert_eq!(denied.get("Condition"), None);
    // The archiver is there only with an archive.
    let there = |listed: &Value| match &listed["Fn::If"] {
        Value::Array(choice) => {
            assert_eq!(
                (&choice[0], &choice[2]),
                (&json!("Archives"), &json!({"Ref": "AWS::NoValue"}))
            );
            choice[1].to_string()
        }
        _ => listed.to_string(),
    };
    let denied: BTreeSet<String> =
        denied["Resource"].as_array().unwrap().iter().map(there).collect();
    let arn = |name: &str| json!({"Fn::GetAtt": [name, "Arn"]}).to_string();
    let versions = |name: &str| json!({"Fn::Sub": format!("${{{name}.Arn}}:*")}).to_string();
    let functions = template.resource_names("AWS::Serverless::Function");
    let mut own: BTreeSet<String> = functions.iter().copied().map(arn).collect();
    for kind in ["AWS::SQS::Queue", "AWS::Events::EventBus"] {
        own.extend(template.resource_names(kind).into_iter().map(arn));
    }
    let told = own.clone();
    own.extend(functions.iter().copied().map(versions));
    assert_eq!(denied, own);

    // What is refused when a job is saved. A function knows its own name.
    let given = &template.properties("ApiFunction")["Environment"]["Variables"];
    let given = given["MINUTEHAND_OWN_ARNS"]["Fn::Join"][1].as_array().unwrap();
    let mut given: BTreeSet<String> = given.iter().map(there).collect();
    given.insert(arn("ApiFunction"));
    assert_eq!(given, told);
}

#[test]
fn jobs_send_no_other_requests_to_aws() {
    let sources = Source::of("shared/actions/src/aws");
    let services: Vec<_> =
        sources.iter().filter(|source| source.text.contains("impl Service for ")).collect();
    assert_eq!(services.len(), OF_JOBS.len());
    for (sign, action) in OF_JOBS {
        let of_action = services.iter().filter(|source| source.text.contains(sign)).count();
        assert_eq!(of_action, 1, "services whose request needs {action}");
    }
    // A service makes one request.
    for source in &services {
        let calls = source.text.matches("-> ApiCall {").count();
        assert_eq!(calls, 1, "requests in {}", source.file);
    }
}

#[test]
fn roles_allow_exactly_the_calls_of_other_services() {
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
    assert!(
        !firing.iter().any(|it| it.text.contains(".seal(")),
        "the executor seals secrets now: change the sign of generate_data_key"
    );
}

#[test]
fn the_list_of_calls_of_other_services_is_complete() {
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

/// The smallest unit of a statement: one action on the partitions of one pattern.
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
    /// The name in the SDK: `get_item` for `dynamodb:GetItem`.
    fn in_the_sdk(&self) -> String {
        if self.transaction.is_some() {
            return "transact_write_items".to_owned();
        }
        let name = self.action.strip_prefix("dynamodb:").unwrap();
        in_snake_case(name)
    }

    /// The sets of partitions that IAM may check: for a write in a transaction, its own partition or
    /// those of all writes, because AWS does not document which.
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

    /// The index that the statement applies to; `None` for the table.
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

/// Whether a pattern such as `T#*` matches; its only star is at the end.
fn matches(pattern: &str, partition: &str) -> bool {
    pattern.strip_suffix('*').unwrap_or(pattern) == partition
}

/// The statements of a role that allow something, in its own policies and in those that name it.
fn statements<'a>(template: &'a Template, role: &str) -> Vec<Allows<'a>> {
    let all = documents(template, role).into_iter();
    let allowing = all.filter(|(_, statement)| statement["Effect"] == "Allow");
    allowing.map(|(condition, statement)| Allows { condition, ..read(statement) }).collect()
}

/// The statements of a role that deny something.
fn denials<'a>(template: &'a Template, role: &str) -> Vec<&'a Value> {
    let all = documents(template, role).into_iter();
    all.filter(|(_, it)| it["Effect"] == "Deny").map(|(_, statement)| statement).collect()
}

/// All statements of a role, with the condition under which each one exists.
fn documents<'a>(template: &'a Template, role: &str) -> Vec<(Option<&'a str>, &'a Value)> {
    let inside = template.properties(role)["Policies"].as_array().into_iter().flatten();
    let inside = inside.map(|policy| (None, policy));
    let apart = template.resource_names("AWS::IAM::Policy").into_iter();
    let apart = apart.map(|name| template.resource(name));
    let apart = apart
        .filter(|policy| policy["Properties"]["Roles"] == json!([{"Ref": role}]))
        .map(|policy| (policy["Condition"].as_str(), &policy["Properties"]));
    inside
        .chain(apart)
        .flat_map(|(condition, policy)| {
            let statements = policy["PolicyDocument"]["Statement"].as_array().unwrap().iter();
            statements.map(move |statement| (condition, statement))
        })
        .collect()
}

/// Reads a statement. An unknown condition is an error, as the test could not judge what it allows.
fn read(statement: &Value) -> Allows<'_> {
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
                ("StringEquals", "kms:ViaService") => {
                    assert_eq!(values["Fn::Sub"], "s3.${AWS::Region}.amazonaws.com");
                }
                ("StringLikeIfExists", "s3:prefix") => assert_eq!(values, "history/*"),
                _ => panic!("{operator} of {key} is a condition that this test cannot judge"),
            }
        }
    }
    allows
}

/// A string, or a list of strings.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        list => list.as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect(),
    }
}
