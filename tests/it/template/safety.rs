//! Settings that protect an installation on AWS and that no emulator enforces.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Template;

/// Lambda would end a chain of retries after about 16 invocations.
#[test]
fn a_function_that_sends_to_its_own_queue_may_invoke_itself() {
    let template = Template::read();
    let queue = json!({ "Fn::GetAtt": ["Queue", "Arn"] });
    assert_eq!(template.properties("Deliveries")["EventSourceArn"], queue);
    let live_or_latest =
        json!(["IsVersioned", { "Ref": "ExecutorLive" }, { "Ref": "ExecutorFunction" }]);
    assert_eq!(template.properties("Deliveries")["FunctionName"]["Fn::If"], live_or_latest);
    assert_eq!(template.properties("ExecutorLive")["FunctionName"]["Ref"], "ExecutorFunction");
    let statements =
        &template.properties("ExecutorRole")["Policies"][0]["PolicyDocument"]["Statement"];
    let mut statements = statements.as_array().unwrap().iter();
    let sends =
        |it: &Value| it["Resource"] == queue && it["Action"].to_string().contains("SendMessage");
    assert!(statements.any(sends), "the executor sends to the queue that invokes it");
    assert_eq!(template.properties("ExecutorFunction")["RecursiveLoop"], "Allow");
}

/// AWS refuses these values only while it deploys, when the rest of the stack has already changed.
#[test]
fn scaling_that_aws_would_refuse_is_refused_before_the_deployment() {
    let template = Template::read();
    let asserted: Vec<&Value> = ["ConcurrencyIsPossible"]
        .into_iter()
        .flat_map(|rule| template.rule(rule)["Assertions"].as_array().unwrap())
        .map(|assertion| &assertion["Assert"])
        .collect();
    let one = json!({ "Fn::Equals": [{ "Ref": "ExecutorConcurrencyMax" }, 1] });
    assert_eq!(asserted, [&json!({ "Fn::Not": [one] })]);
}

#[test]
fn private_targets_need_a_network_that_the_executor_is_in() {
    let template = Template::read();
    let needs = template.rule("PrivateTargetsNeedANetwork");
    assert_eq!(needs["RuleCondition"]["Fn::Equals"], json!([{ "Ref": "Targets" }, "private"]));
    let is_in_vpc = json!({ "Fn::Not": [{ "Fn::Equals": [{ "Ref": "SubnetIds" }, ""] }] });
    assert_eq!(needs["Assertions"][0]["Assert"], is_in_vpc);
    assert_eq!(*template.condition("IsInVpc"), is_in_vpc);
    let network = &template.properties("ExecutorFunction")["VpcConfig"]["Fn::If"];
    assert_eq!(network[0], "IsInVpc");
    for name in ["SubnetIds", "SecurityGroupIds"] {
        assert_eq!(network[1][name]["Fn::Split"], json!([",", { "Ref": name }]));
    }
    let role = &template.properties("ExecutorRole")["ManagedPolicyArns"]["Fn::If"];
    assert_eq!(role[0], "IsInVpc");
}

#[test]
fn routes_without_authentication_have_a_limit_of_their_own() {
    let template = Template::read();
    let open: Vec<&Value> = template
        .resources("AWS::ApiGatewayV2::Route")
        .into_iter()
        .filter(|route| route["AuthorizationType"] == "NONE")
        .map(|route| &route["RouteKey"])
        .collect();
    let console = ["GET /", "GET /console", "GET /console/{proxy+}"];
    let pings = ["GET", "HEAD", "POST"].map(|method| format!("{method} /ping/{{proxy+}}"));
    let known = ["GET /healthz", "GET /openapi.json"].into_iter().chain(console);
    let known: BTreeSet<&str> = known.chain(pings.iter().map(String::as_str)).collect();
    let named = open.iter().map(|route| route.as_str().unwrap());
    assert_eq!(named.collect::<BTreeSet<_>>(), known);
    let stage = template.properties("Stage");
    for route in open {
        let limit = &stage["RouteSettings"][route.as_str().unwrap()];
        let (rate, burst) = match route.as_str().unwrap() {
            // It takes five files, and several people may share an address.
            it if it == console[2] => (50, 200),
            // Many targets may end their work at the same time, and many commands begin.
            it if it.ends_with(" /ping/{proxy+}") => (100, 200),
            _ => (5, 10),
        };
        assert_eq!(limit["ThrottlingRateLimit"], rate, "{route}");
        assert_eq!(limit["ThrottlingBurstLimit"], burst, "{route}");
    }
}

/// A quotation mark in a path would forge the JSON of a line.
#[test]
fn the_access_log_is_json_and_contains_nothing_that_a_caller_writes() {
    let template = Template::read();
    let format = &template.properties("Stage")["AccessLogSettings"]["Format"];
    let line: Value = serde_json::from_str(format.as_str().unwrap()).unwrap();
    for (name, value) in line.as_object().unwrap() {
        let value = value.as_str().unwrap_or_else(|| panic!("{name} is in quotation marks"));
        assert!(
            !["path", "rawPath", "messageString"].iter().any(|it| value.ends_with(it)),
            "{value}"
        );
    }
}

#[test]
fn table_and_key_are_protected_from_deletion_and_usable_in_another_region() {
    let template = Template::read();
    assert_eq!(template.properties("Table")["DeletionProtectionEnabled"], true);
    assert_eq!(template.properties("Key")["MultiRegion"], true);
    for name in ["Table", "Key"] {
        for policy in ["DeletionPolicy", "UpdateReplacePolicy"] {
            assert_eq!(template.resource(name)[policy], "Retain", "{policy} of {name}");
        }
    }
}

/// The chapter about restoring: its commands.
fn steps_of_a_restore() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/docs/aws-runbooks.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, section) = page.split_once("\n## Restore to an earlier instant\n").unwrap();
    let (_, commands) = section.split_once("```sh\n").unwrap();
    commands.split_once("```").unwrap().0.to_owned()
}

#[test]
fn the_steps_of_a_restore_name_what_the_template_creates() {
    let (template, steps) = (Template::read(), steps_of_a_restore());
    let names: BTreeSet<&str> =
        steps.split("$(name ").skip(1).filter_map(|it| it.split_once(')')).map(|it| it.0).collect();
    assert_eq!(names, ["ApiFunction", "Deliveries", "Queue", "Table", "Tick"].into());
    for name in names {
        assert!(template.resource(name)["Type"].is_string(), "{name} is in the template");
    }
}

#[test]
fn a_restored_table_gets_what_the_template_gives_and_a_restore_leaves_out() {
    let (template, steps) = (Template::read(), steps_of_a_restore());
    let table = template.properties("Table");
    let expires = &table["TimeToLiveSpecification"]["AttributeName"];
    let expires = format!("Enabled=true,AttributeName={}", expires.as_str().unwrap());
    let (_, last) = steps.split_once("restore-table-from-backup").unwrap();
    for set in [&expires, "PointInTimeRecoveryEnabled=true", " --deletion-protection-enabled"] {
        assert!(last.contains(set), "{set}");
    }
    for needed in ["PointInTimeRecoverySpecification", "DeletionProtectionEnabled"] {
        assert!(!table[needed].is_null(), "{needed}");
    }
    // The waiters of the command line end after 500 seconds, and a restore takes 20 minutes.
    assert!(!steps.contains("aws dynamodb wait "), "{steps}");
    // A restore takes its time before anything is stopped. What writes to the table is stopped before it is
    // replaced, and started at the end.
    let (first, _) = steps.split_once("delete-table").unwrap();
    let (restores, _) = first.split_once("disable-rule").unwrap();
    assert!(restores.contains("restore-table-to-point-in-time"), "{restores}");
    for (stop, start) in [
        ("disable-rule", "enable-rule"),
        ("--no-enabled", " --enabled"),
        ("put-function-concurrency", "delete-function-concurrency"),
    ] {
        assert!(first.contains(stop) && last.contains(start), "{stop}");
    }
}

#[test]
fn queues_refuse_unencrypted_transport() {
    let template = Template::read();
    let policy = template.properties("QueueTransport");
    let queues = template.resource_names("AWS::SQS::Queue");
    let named: BTreeSet<&str> =
        policy["Queues"].as_array().unwrap().iter().map(|it| it["Ref"].as_str().unwrap()).collect();
    assert_eq!(named, queues);
    let statement = &policy["PolicyDocument"]["Statement"][0];
    assert_eq!(statement["Effect"], "Deny");
    assert_eq!(statement["Condition"]["Bool"]["aws:SecureTransport"], "false");
    assert_eq!(statement["Resource"].as_array().unwrap().len(), queues.len());
}

#[test]
fn the_topic_of_alarms_refuses_unencrypted_transport_and_accepts_alarms() {
    let template = Template::read();
    let policy = template.properties("AlarmTopicPolicy");
    assert_eq!(policy["Topics"], json!([{ "Ref": "AlarmTopic" }]));
    let statements = policy["PolicyDocument"]["Statement"].as_array().unwrap();
    let [allow, deny] = statements.as_slice() else { panic!("two statements") };
    assert_eq!(allow["Principal"]["Service"], "cloudwatch.amazonaws.com");
    assert_eq!(allow["Condition"]["StringEquals"]["aws:SourceAccount"]["Ref"], "AWS::AccountId");
    assert_eq!(deny["Effect"], "Deny");
    assert_eq!(deny["Condition"]["Bool"]["aws:SecureTransport"], "false");
}

/// Alarms on ten metrics are free in most accounts; each metric of an expression is charged for.
/// `tests/e2e/alarms.py` says when each alarm rings.
#[test]
fn the_alarms_watch_ten_metrics_and_four_more_with_an_archive() {
    let template = Template::read();
    let (mut watched, mut with_archive) = (BTreeSet::new(), 0);
    for name in template.resource_names("AWS::CloudWatch::Alarm") {
        let metrics = template.alarm_metrics(name);
        assert!(!metrics.is_empty(), "{name}");
        if template.resource(name)["Condition"] == "Archives" {
            with_archive += metrics.len();
        }
        for metric in metrics {
            let metric = [&metric["Namespace"], &metric["MetricName"], &metric["Dimensions"]];
            assert!(watched.insert(json!(metric).to_string()), "{metric:?} is watched twice");
        }
    }
    assert_eq!((watched.len() - with_archive, with_archive), (10, 4));
}

/// A standby does not sweep, and its messages wait.
#[test]
fn the_alarms_about_silence_exist_in_an_active_stack_only() {
    let template = Template::read();
    for name in template.resource_names("AWS::CloudWatch::Alarm") {
        let is_about_silence = ["NoSweepAlarm", "NoDeliveryAlarm"].contains(&name);
        assert_eq!(template.resource(name)["Condition"] == "IsActive", is_about_silence, "{name}");
    }
}

/// AWS refuses the reservation in accounts with few concurrent executions.
#[test]
fn executions_are_kept_for_the_sweeper_only_if_asked_to() {
    let template = Template::read();
    assert_eq!(template.parameter("ReserveForSweeper")["Default"], 0);
    let none = json!({ "Ref": "AWS::NoValue" });
    let reserved =
        &template.properties("SweeperFunction")["ReservedConcurrentExecutions"]["Fn::If"];
    assert_eq!(*reserved, json!(["ReservesForSweeper", { "Ref": "ReserveForSweeper" }, none]));
}

#[test]
fn a_key_for_data_encrypts_the_table_and_every_log() {
    let template = Template::read();
    let key = |value: Value| json!(["HasDataKey", value, { "Ref": "AWS::NoValue" }]);
    let own = json!({ "Ref": "DataKeyArn" });
    let table = json!({ "SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": own });
    assert_eq!(template.properties("Table")["SSESpecification"]["Fn::If"], key(table));
    for log in template.resources("AWS::Logs::LogGroup") {
        assert_eq!(log["KmsKeyId"]["Fn::If"], key(own.clone()));
    }
    assert_eq!(template.parameter("DataKeyArn")["Default"], "");
}

/// Lambda's own lines tell the billed time and the used memory.
#[test]
fn the_lines_of_lambda_can_be_switched_on() {
    let template = Template::read();
    let logging = &template.globals("Function")["LoggingConfig"];
    assert_eq!(logging["SystemLogLevel"]["Ref"], "SystemLogLevel");
    let parameter = template.parameter("SystemLogLevel");
    assert_eq!(parameter["AllowedValues"], json!(["WARN", "INFO"]));
    assert_eq!(parameter["Default"], "WARN");
}

/// The names of dashboards are common to all regions of an account.
#[test]
fn two_regions_have_two_dashboards() {
    let template = Template::read();
    let name = &template.properties("Board")["DashboardName"]["Fn::Sub"];
    assert_eq!(name, "${AWS::StackName}-${AWS::Region}");
}

#[test]
fn each_policy_is_of_one_role_as_the_tests_of_roles_judge_them() {
    let template = Template::read();
    for name in template.resource_names("AWS::IAM::Policy") {
        assert_eq!(template.properties(name)["Roles"].as_array().unwrap().len(), 1, "{name}");
    }
}

/// SAM publishes no version when only a parameter changes, and AWS none of an unchanged function.
#[test]
fn another_release_changes_each_function_and_publishes_a_version_of_it() {
    let template = Template::read();
    let functions = template.resource_names("AWS::Serverless::Function");
    let versions = template.resources("AWS::Lambda::Version");
    let aliases = template.resources("AWS::Lambda::Alias");
    for of_functions in [&versions, &aliases] {
        let named: BTreeSet<&str> =
            of_functions.iter().map(|it| it["FunctionName"]["Ref"].as_str().unwrap()).collect();
        assert_eq!(named, functions);
    }
    assert!(versions.iter().all(|version| version["Description"] == json!({ "Ref": "Release" })));
    assert!(aliases.iter().all(|alias| alias["Name"] == "live"));
    for function in functions {
        let function = template.properties(function);
        assert!(function.get("AutoPublishAlias").is_none());
        let description = function["Description"]["Fn::Sub"].as_str().unwrap();
        assert!(description.ends_with(" ${Release}"), "{description}");
    }
}

#[test]
fn every_parameter_is_in_a_group_and_has_a_row_with_what_it_means() {
    let template = Template::read();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/docs/aws-parameters.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (_, section) = page.split_once("\n## Parameters\n").unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let in_cells: BTreeSet<&str> = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
        .flat_map(|cell| cell.split('`').step_by(2))
        .collect();
    let groups =
        template.metadata()["AWS::CloudFormation::Interface"]["ParameterGroups"].as_array();
    let groups: Vec<&str> = groups
        .unwrap()
        .iter()
        .flat_map(|group| group["Parameters"].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect();
    let grouped: BTreeSet<&str> = groups.iter().copied().collect();
    assert_eq!(grouped.len(), groups.len(), "a parameter is in two groups");
    let declared = template.parameter_names();
    assert_eq!(grouped, declared, "left: those in groups");
    assert_eq!(in_cells, declared, "left: those with a row in aws-parameters.md");
}
