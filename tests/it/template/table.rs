//! Compares the table in the template with the one that the code creates for the DynamoDB in the process.

use minutehand_store_dynamodb::{DUE_INDEX, ensure_table};
use minutehand_testkit::dynamodb::LocalDynamo;
use serde_json::{Value, json};

use super::Template;

#[tokio::test]
async fn the_template_defines_the_same_table_as_the_code() {
    let template = Template::read();
    let table = template.properties("Table");
    let made = made().await;
    assert_eq!(sorted(&table["AttributeDefinitions"]), sorted(&made["AttributeDefinitions"]));
    assert_eq!(table["KeySchema"], made["KeySchema"]);
    assert_eq!(table["TimeToLiveSpecification"], made["TimeToLiveSpecification"]);
    let [index] = table["GlobalSecondaryIndexes"].as_array().unwrap().as_slice() else {
        panic!("there is one index");
    };
    assert_eq!(index["IndexName"], DUE_INDEX);
    assert_eq!(index["KeySchema"], made["Index"]["KeySchema"]);
    assert_eq!(index["Projection"]["ProjectionType"], made["Index"]["ProjectionType"]);
    assert_eq!(
        sorted(&index["Projection"]["NonKeyAttributes"]),
        sorted(&made["Index"]["NonKeyAttributes"])
    );
}

/// The table that the code creates, with the property names of a template.
async fn made() -> Value {
    let store = LocalDynamo::in_memory();
    let client = store.client();
    ensure_table(&client, "table").await.unwrap();
    let table = client.describe_table().table_name("table").send().await.unwrap().table.unwrap();
    let expiry = client.describe_time_to_live().table_name("table").send().await.unwrap();
    let expiry = expiry.time_to_live_description.unwrap();
    let keys = |keys: &[aws_sdk_dynamodb::types::KeySchemaElement]| -> Value {
        let key = |key: &aws_sdk_dynamodb::types::KeySchemaElement| json!({"AttributeName": key.attribute_name, "KeyType": key.key_type.as_str()});
        keys.iter().map(key).collect()
    };
    let attributes = table.attribute_definitions().iter().map(|attribute| {
        let kind = attribute.attribute_type.as_str();
        json!({"AttributeName": attribute.attribute_name, "AttributeType": kind})
    });
    let [index] = table.global_secondary_indexes() else { panic!("there is one index") };
    let projection = index.projection().unwrap();
    json!({
        "AttributeDefinitions": attributes.collect::<Value>(),
        "KeySchema": keys(table.key_schema()),
        "TimeToLiveSpecification": {
            "AttributeName": expiry.attribute_name,
            "Enabled": expiry.time_to_live_status.unwrap().as_str() == "ENABLED",
        },
        "Index": {
            "KeySchema": keys(index.key_schema()),
            "ProjectionType": projection.projection_type().unwrap().as_str(),
            "NonKeyAttributes": projection.non_key_attributes(),
        },
    })
}

/// The items of a list whose order does not matter.
fn sorted(list: &Value) -> Vec<String> {
    let mut list: Vec<String> = list.as_array().unwrap().iter().map(Value::to_string).collect();
    list.sort();
    list
}

#[test]
fn provisioned_units_are_given_to_the_table_and_its_index_and_scale_only_if_asked_to() {
    let template = Template::read();
    let none = json!({"Ref": "AWS::NoValue"});
    let table = template.properties("Table");
    let billing = json!(["IsProvisioned", "PROVISIONED", "PAY_PER_REQUEST"]);
    assert_eq!(table["BillingMode"]["Fn::If"], billing);
    for (place, of) in [(table, "Table"), (&table["GlobalSecondaryIndexes"][0], "Index")] {
        let units = json!({
            "ReadCapacityUnits": {"Ref": format!("{of}ReadUnits")},
            "WriteCapacityUnits": {"Ref": format!("{of}WriteUnits")},
        });
        let given = &place["ProvisionedThroughput"]["Fn::If"];
        assert_eq!(*given, json!(["IsProvisioned", units, none]), "{of}");
        for (way, dimension) in [("Write", "WriteCapacityUnits"), ("Read", "ReadCapacityUnits")] {
            let scale = format!("{of}{way}sScale");
            let properties = template.properties(&scale);
            let service = of.to_lowercase();
            assert_eq!(properties["ScalableDimension"], format!("dynamodb:{service}:{dimension}"));
            assert_eq!(properties["MinCapacity"]["Ref"], format!("{of}{way}Units"));
            assert_eq!(properties["MaxCapacity"]["Ref"], "AutoScalingUnitsMax");
            let policy = format!("{of}{way}sPolicy");
            assert_eq!(template.properties(&policy)["ScalingTargetId"]["Ref"], scale);
            let tracking =
                &template.properties(&policy)["TargetTrackingScalingPolicyConfiguration"];
            assert_eq!(tracking["TargetValue"], 70);
            let metric = &tracking["PredefinedMetricSpecification"]["PredefinedMetricType"];
            assert_eq!(*metric, format!("DynamoDB{way}CapacityUtilization"));
            for name in [&scale, &policy] {
                assert_eq!(template.resource(name)["Condition"], "Scales", "{name}");
            }
        }
    }
    assert_eq!(template.parameter("Capacity")["Default"], "on-demand");
    assert_eq!(template.parameter("AutoScalingUnitsMax")["Default"], 0);
}

/// AWS charges no provisioned units up to 25 of each kind, of all tables of an account together.
#[test]
fn the_default_units_are_within_what_is_always_free() {
    let template = Template::read();
    for way in ["Write", "Read"] {
        let units =
            |of: &str| template.parameter(&format!("{of}{way}Units"))["Default"].as_i64().unwrap();
        assert_eq!(units("Table") + units("Index"), 25, "{way}");
    }
}
