//! What each function's role allows, beside what the function does.
//!
//! Calls of the table are noted where they leave, while everything that can happen is played by the
//! real services: so a call that a role does not allow is found, and what it allows and nobody does,
//! too. Of the other services the calls stand in the sources of their adapters.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Template;
use crate::fire::watch::{Call, Function, everything};

/// A statement that allows.
struct Allows<'a> {
    actions: Vec<&'a str>,
    resource: &'a Value,
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

impl Call {
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
    statements.map(read).collect()
}

/// Reads a statement, and knows all that is in it: what it did not know might allow more.
fn read(statement: &Value) -> Allows<'_> {
    assert_eq!(statement["Effect"], "Allow");
    let mut allows = Allows {
        actions: texts(&statement["Action"]),
        resource: &statement["Resource"],
        partitions: None,
        only_in_transactions: false,
    };
    assert_ne!(allows.resource, "*", "{statement}");
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
                ("StringEquals", "kms:EncryptionContext:minutehand") => {}
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
