//! The archive: it exists only if it is asked for, its function may do what it does, and its bucket keeps
//! what it has.

use std::collections::BTreeSet;

use minutehand_archive::Stream;
use serde_json::{Value, json};

use super::Template;

/// What the template adds only with an archive: all that costs money or grants a permission.
const PARTS: [&str; 17] = [
    "ApiArchiveKeyPolicy",
    "ApiArchivePolicy",
    "ArchiveAgeAlarm",
    "ArchiveBucket",
    "ArchiveTransport",
    "ArchiverErrorsAlarm",
    "ArchiverFunction",
    "ArchiverKeyPolicy",
    "ArchiverLive",
    "ArchiverLog",
    "ArchiverRole",
    "ArchiverVersion",
    "Archiving",
    "NoArchivingAlarm",
    "Sorting",
    "SortingPermission",
    "Table",
];

#[test]
fn without_an_archive_there_is_nothing_of_it() {
    let template = Template::read();
    assert_eq!(template.parameter("Archive")["Default"], "no");
    let asked = json!({"Fn::Equals": [{"Ref": "Archive"}, "yes"]});
    assert_eq!(*template.condition("Archives"), asked);
    for (condition, other) in
        [("ArchivesVersioned", "IsVersioned"), ("ArchivesWithKey", "HasDataKey")]
    {
        let both = json!({"Fn::And": [{"Condition": "Archives"}, {"Condition": other}]});
        assert_eq!(*template.condition(condition), both);
    }
    let named = |name: &&str| ["Archiv", "Sorting"].iter().any(|part| name.contains(part));
    let all: BTreeSet<&str> = template.all_resource_names().into_iter().filter(named).collect();
    assert_eq!(all.into_iter().chain(["Table"]).collect::<Vec<_>>(), PARTS);
    for name in PARTS.iter().filter(|name| **name != "Table") {
        let condition = template.resource(name)["Condition"].as_str().unwrap_or_default();
        assert!(condition.starts_with("Archives"), "{name}");
    }
    let stream = &template.properties("Table")["StreamSpecification"]["Fn::If"];
    let none = json!({"Ref": "AWS::NoValue"});
    assert_eq!(*stream, json!(["Archives", {"StreamViewType": "NEW_AND_OLD_IMAGES"}, none]));
    let bucket =
        &template.properties("ApiFunction")["Environment"]["Variables"]["MINUTEHAND_ARCHIVE"];
    assert_eq!(bucket["Fn::If"], json!(["Archives", {"Fn::Sub": "s3://${ArchiveBucket}"}, none]));
}

#[test]
fn the_bucket_is_private_encrypted_and_kept() {
    let template = Template::read();
    for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
        assert_eq!(template.resource("ArchiveBucket")[policy], "Retain");
    }
    let bucket = template.properties("ArchiveBucket");
    let blocked = bucket["PublicAccessBlockConfiguration"].as_object().unwrap();
    assert!(blocked.len() == 4 && blocked.values().all(|it| *it == true), "{blocked:?}");
    assert_eq!(bucket["OwnershipControls"]["Rules"][0]["ObjectOwnership"], "BucketOwnerEnforced");
    assert_eq!(bucket["VersioningConfiguration"]["Status"], "Enabled");
    let encryption = &bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"][0]["ServerSideEncryptionByDefault"];
    let own = json!({"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": {"Ref": "DataKeyArn"}});
    assert_eq!(encryption["Fn::If"], json!(["HasDataKey", own, {"SSEAlgorithm": "AES256"}]));
    let statement = &template.properties("ArchiveTransport")["PolicyDocument"]["Statement"][0];
    assert_eq!(statement["Effect"], "Deny");
    assert_eq!(statement["Condition"]["Bool"]["aws:SecureTransport"], "false");
    // Journals do not end, and history only if it was asked for.
    let rules = bucket["LifecycleConfiguration"]["Rules"].as_array().unwrap();
    let ends: Vec<&Value> =
        rules.iter().filter(|rule| rule.to_string().contains("ExpirationInDays")).collect();
    let [rule, bodies] = ends.as_slice() else { panic!("{ends:?}") };
    assert_eq!(rule["Fn::If"][0], "ArchiveExpires");
    assert_eq!(rule["Fn::If"][1]["Prefix"], "history/");
    assert_eq!(bodies["Prefix"], "bodies/");
    assert_eq!(bodies["ExpirationInDays"], json!({"Ref": "HistoryDays"}));
    assert_eq!(template.parameter("ArchiveDays")["Default"], 0);
}

fn statements<'a>(template: &'a Template, name: &str) -> Vec<&'a Value> {
    let properties = template.properties(name);
    let policies = properties["Policies"].as_array().into_iter().flatten();
    let documents =
        policies.map(|policy| &policy["PolicyDocument"]).chain(properties.get("PolicyDocument"));
    documents.flat_map(|document| document["Statement"].as_array().unwrap()).collect()
}

#[test]
fn the_archiver_writes_objects_and_replaces_history_and_the_api_reads_it() {
    let template = Template::read();
    let may = |name: &str, action: &str| {
        let statements = statements(&template, name).into_iter();
        let allows = statements.filter(|it| {
            let is_named = match &it["Action"] {
                Value::Array(list) => list.iter().any(|it| it == action),
                one => one == action,
            };
            it["Effect"] == "Allow" && is_named
        });
        let resources = allows.flat_map(|it| match &it["Resource"] {
            Value::Array(list) => list.iter().collect(),
            one => vec![one],
        });
        resources.map(|it| it["Fn::Sub"].as_str().unwrap_or_default()).collect::<Vec<_>>()
    };
    let folder = |name: &str| format!("${{ArchiveBucket.Arn}}/{name}/*");
    let kinds = Stream::ALL.map(|stream| stream.folder().split_once('/').unwrap().0);
    let written: Vec<String> =
        kinds.into_iter().chain(["failed", "aws/lambda"]).map(folder).collect();
    assert_eq!(may("ArchiverRole", "s3:PutObject"), written);
    for (name, action) in [
        ("ApiArchivePolicy", "s3:GetObject"),
        ("ArchiverRole", "s3:GetObject"),
        ("ArchiverRole", "s3:DeleteObject"),
    ] {
        assert_eq!(may(name, action), [folder(kinds[0])], "{name}: {action}");
    }
    let mut others = BTreeSet::new();
    for name in ["ArchiverRole", "ApiArchivePolicy", "ArchiverKeyPolicy", "ApiArchiveKeyPolicy"] {
        for statement in statements(&template, name) {
            assert_ne!(statement["Resource"], "*");
            match &statement["Action"] {
                Value::Array(list) => others.extend(list.iter().map(|it| it.as_str().unwrap())),
                one => drop(others.insert(one.as_str().unwrap())),
            }
        }
    }
    let expected = [
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        // For a day that is written again.
        "dynamodb:Scan",
        "kms:Decrypt",
        "kms:GenerateDataKey",
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "s3:DeleteObject",
        "s3:GetObject",
        "s3:ListBucket",
        "s3:PutObject",
    ];
    assert_eq!(others, expected.into());
}

#[test]
fn the_archive_is_sorted_in_parts_when_a_day_is_over() {
    let template = Template::read();
    let rule = template.properties("Sorting");
    assert_eq!(rule["ScheduleExpression"], "cron(30 * * * ? *)");
    let [target] = rule["Targets"].as_array().unwrap().as_slice() else { panic!("{rule}") };
    assert_eq!(target["Input"], "{\"sort\":true}");
    let live = json!(["ArchivesVersioned", {"Ref": "ArchiverLive"}, {"Fn::GetAtt": ["ArchiverFunction", "Arn"]}]);
    assert_eq!(target["Arn"]["Fn::If"], live);
    // As long as Lambda allows, and longer than it keeps for storing what it has read.
    assert_eq!(template.number("ArchiverFunction", "/Timeout"), 900);
}

/// The stream keeps a record for a day.
#[test]
fn a_batch_that_fails_is_kept_and_what_is_behind_it_is_not_lost() {
    let template = Template::read();
    let mapping = template.properties("Archiving");
    let stream = json!({"Fn::GetAtt": ["Table", "StreamArn"]});
    assert_eq!(mapping["EventSourceArn"], stream);
    let live = json!(["ArchivesVersioned", {"Ref": "ArchiverLive"}, {"Ref": "ArchiverFunction"}]);
    assert_eq!(mapping["FunctionName"]["Fn::If"], live);
    assert_eq!(mapping["StartingPosition"], "TRIM_HORIZON");
    assert_eq!(mapping["BisectBatchOnFunctionError"], true);
    assert_eq!(mapping["FunctionResponseTypes"], json!(["ReportBatchItemFailures"]));
    assert!(mapping.get("MaximumRetryAttempts").is_none(), "an outage ends no batch");
    let age = template.number("Archiving", "/MaximumRecordAgeInSeconds");
    assert!(age <= 24 * 3_600 / 2, "half of the day is left for the records behind it");
    let kept = &mapping["DestinationConfig"]["OnFailure"]["Destination"];
    assert_eq!(*kept, json!({"Fn::GetAtt": ["ArchiveBucket", "Arn"]}));
    let late = template.number("ArchiveAgeAlarm", "/Threshold");
    assert!(late / 1_000 < age / 2, "the alarm leaves time to act");
    assert_eq!(template.properties("ArchiveAgeAlarm")["MetricName"], "IteratorAge");
    for alarm in ["ArchiveAgeAlarm", "ArchiverErrorsAlarm"] {
        assert_eq!(template.properties(alarm)["Dimensions"][0]["Value"]["Ref"], "ArchiverFunction");
    }
}

/// DynamoDB's filters begin with the key `dynamodb`, and `exists` is for leaves.
#[test]
fn the_filters_select_what_has_ended_in_the_documented_grammar() {
    for pattern in filters(&Template::read()) {
        let [(root, inside)] = pattern.as_object().unwrap().iter().collect::<Vec<_>>()[..] else {
            panic!("{pattern}")
        };
        assert_eq!(root, "dynamodb");
        let mut open = vec![inside];
        while let Some(node) = open.pop() {
            match node {
                Value::Object(fields) => open.extend(fields.values()),
                Value::Array(rules) => {
                    let [rule] = rules.as_slice() else { panic!("{rules:?}") };
                    let is_known = rule["exists"] == true || rule["prefix"].is_string();
                    assert!(is_known && rule.as_object().unwrap().len() == 1, "{rule}");
                }
                other => panic!("{other} is not a list of rules"),
            }
        }
    }
}

/// The patterns of the mapping, of which a record has to match one.
pub(crate) fn filters(template: &Template) -> Vec<Value> {
    let filters = &template.properties("Archiving")["FilterCriteria"]["Filters"];
    let patterns = filters.as_array().unwrap().iter().map(|it| it["Pattern"].as_str().unwrap());
    patterns.map(|pattern| serde_json::from_str(pattern).unwrap()).collect()
}

#[test]
fn each_hour_a_backup_is_written_if_it_is_due_and_age_deletes_none() {
    let template = Template::read();
    let default = &template.parameter("BackupsKept")["Default"];
    assert_eq!(*default, 35);
    let asked = json!({"Fn::Not": [{"Fn::Equals": [{"Ref": "BackupsKept"}, 0]}]});
    let with_archive = json!({"Fn::And": [{"Condition": "Archives"}, asked]});
    assert_eq!(*template.condition("KeepsBackups"), with_archive);
    let named = |name: &&str| name.contains("Backup");
    let all: BTreeSet<&str> = template.all_resource_names().into_iter().filter(named).collect();
    let parts = ["DailyBackup", "DailyBackupPermission", "DailyBackupPolicy"];
    assert_eq!(all, parts.into());
    for name in parts {
        assert_eq!(template.resource(name)["Condition"], "KeepsBackups", "{name}");
    }
    let rule = template.properties("DailyBackup");
    // A part takes 15 minutes at most, so that each hour's is over before the next one.
    assert_eq!(rule["ScheduleExpression"], "cron(30 * * * ? *)");
    assert_eq!(template.properties("ArchiverFunction")["Timeout"], 900);
    let [target] = rule["Targets"].as_array().unwrap().as_slice() else { panic!("{rule}") };
    assert_eq!(target["Input"], "{\"backup\":\"due\"}");
    assert_eq!(target["Arn"], template.properties("Sorting")["Targets"][0]["Arn"]);
    let kept = &template.properties("ArchiverFunction")["Environment"]["Variables"]["MINUTEHAND_BACKUPS_KEPT"];
    assert_eq!(*kept, json!({"Ref": "BackupsKept"}));

    // Only the archiver touches backups, and nothing but these.
    assert_eq!(template.properties("DailyBackupPolicy")["Roles"], json!([{"Ref": "ArchiverRole"}]));
    let objects: Vec<_> = statements(&template, "DailyBackupPolicy")
        .into_iter()
        .filter(|it| it["Action"].to_string().contains("s3:"))
        .collect();
    let [objects] = objects.as_slice() else { panic!("{objects:?}") };
    let folder = format!("${{ArchiveBucket.Arn}}/{}/*", minutehand_archive::BACKUPS);
    assert_eq!(objects["Resource"], json!({"Fn::Sub": folder}));
    assert_eq!(objects["Action"], json!(["s3:PutObject", "s3:GetObject", "s3:DeleteObject"]));
    let policies = template.resource_names("AWS::IAM::Policy").into_iter();
    let touching = policies.filter(|name| {
        *name != "DailyBackupPolicy" && template.properties(name).to_string().contains("/backup/")
    });
    assert_eq!(touching.collect::<Vec<_>>(), ["MovingPolicy"]);
    // With an own key, it also decrypts what it reads.
    let keys = statements(&template, "ArchiverKeyPolicy");
    let [key] = keys.as_slice() else { panic!("{keys:?}") };
    assert_eq!(key["Action"], json!(["kms:GenerateDataKey", "kms:Decrypt"]));
    let lifecycle = template.properties("ArchiveBucket")["LifecycleConfiguration"].to_string();
    assert!(!lifecycle.contains("backup"), "{lifecycle}");
}

#[test]
fn the_archiver_opens_secrets_and_writes_jobs_only_if_it_may_move_the_installation() {
    let template = Template::read();
    assert_eq!(template.parameter("Moving")["Default"], "no");
    let asked = json!({"Fn::Equals": [{"Ref": "Moving"}, "yes"]});
    assert_eq!(
        *template.condition("Moves"),
        json!({"Fn::And": [{"Condition": "Archives"}, asked]})
    );
    let policy = template.resource("MovingPolicy");
    assert_eq!(policy["Condition"], "Moves");
    assert_eq!(template.properties("MovingPolicy")["Roles"], json!([{"Ref": "ArchiverRole"}]));
    let allowed = statements(&template, "MovingPolicy");
    let of = |service: &str| {
        let of_it = allowed.iter().filter(|it| it["Action"].to_string().contains(service));
        let [one] = of_it.collect::<Vec<_>>()[..] else { panic!("{service}: {allowed:?}") };
        *one
    };
    let folder = format!("${{ArchiveBucket.Arn}}/{}/*", minutehand_archive::BACKUPS);
    assert_eq!(of("s3:")["Resource"], json!({"Fn::Sub": folder}));
    assert_eq!(of("s3:")["Action"], json!(["s3:PutObject", "s3:GetObject"]));
    let secrets = of("kms:");
    let of_api = statements(&template, "ApiRole");
    let of_api = of_api.iter().find(|it| it["Sid"] == secrets["Sid"]).unwrap();
    assert_eq!(secrets, *of_api, "the same key, for the same purpose");
    let key = &template.properties("ArchiverFunction")["Environment"]["Variables"]["MINUTEHAND_MOVING_KEY_ID"];
    assert_eq!(*key, json!({"Fn::If": ["Moves", secrets["Resource"], {"Ref": "AWS::NoValue"}]}));
    for name in ["ArchiverRole", "DailyBackupPolicy"] {
        let text = template.properties(name).to_string();
        assert!(!text.contains("EncryptionContext") && !text.contains("PutItem"), "{name}");
    }
}

#[test]
fn bodies_are_kept_by_the_executor_only_if_asked_for_and_by_the_api_with_an_archive() {
    let template = Template::read();
    assert_eq!(template.parameter("KeepBodies")["Default"], "none");
    let asked = json!({"Fn::Equals": [{"Ref": "KeepBodies"}, "failures"]});
    let with_archive = json!({"Fn::And": [{"Condition": "Archives"}, asked]});
    assert_eq!(*template.condition("KeepsBodies"), with_archive);
    let named = |name: &&str| name.contains("Bodies");
    let all: BTreeSet<&str> = template.all_resource_names().into_iter().filter(named).collect();
    let bodies = json!({"Fn::Sub": "${ArchiveBucket.Arn}/bodies/*"});
    let key = json!({"Ref": "DataKeyArn"});
    let policies = [
        (
            "ApiBodiesPolicy",
            "Archives",
            "ApiRole",
            json!(["s3:GetObject", "s3:PutObject"]),
            &bodies,
        ),
        (
            "ExecutorBodiesKeyPolicy",
            "KeepsBodiesWithKey",
            "ExecutorRole",
            json!("kms:GenerateDataKey"),
            &key,
        ),
        ("ExecutorBodiesPolicy", "KeepsBodies", "ExecutorRole", json!("s3:PutObject"), &bodies),
    ];
    assert_eq!(all, policies.iter().map(|it| it.0).collect());
    for (name, condition, role, action, resource) in policies {
        assert_eq!(template.resource(name)["Condition"], condition, "{name}");
        assert_eq!(template.properties(name)["Roles"], json!([{"Ref": role}]), "{name}");
        let statements = statements(&template, name);
        let [statement] = statements.as_slice() else { panic!("{name}: {statements:?}") };
        assert_eq!((&statement["Action"], &statement["Resource"]), (&action, resource));
    }
    let variables = &template.properties("ExecutorFunction")["Environment"]["Variables"];
    let kept = &variables["MINUTEHAND_KEEP_BODIES"]["Fn::If"];
    let none = json!({"Ref": "AWS::NoValue"});
    assert_eq!(*kept, json!(["KeepsBodies", {"Ref": "KeepBodies"}, none]));
}
