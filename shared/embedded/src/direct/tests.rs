//! The same requests on two databases: one performs them directly where it can, the other one has dynoxide
//! perform all of them. Their answers and their rows have to be the same.

use std::collections::BTreeMap;

use dynoxide::actions::vector_lifecycle::VectorIndexLifecycle;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::*;
use crate::database::Database;
use crate::operation;

const TABLE: &str = "table";
const CREATE: &str = r#"{
    "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}
    ],
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "due_shard", "AttributeType": "N"},
        {"AttributeName": "due_at", "AttributeType": "N"}
    ],
    "GlobalSecondaryIndexes": [{
        "IndexName": "due",
        "KeySchema": [
            {"AttributeName": "due_shard", "KeyType": "HASH"},
            {"AttributeName": "due_at", "KeyType": "RANGE"}
        ],
        "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state"]}
    }]
}"#;

/// How often random requests are made, and how many each time. Three hundred seeds have passed.
const SEEDS: u64 = 10;
const REQUESTS: usize = 500;

const CONDITIONS: &[&str] = &[
    "attribute_not_exists(pk)",
    "attribute_exists(pk) AND (attribute_not_exists(text) OR text = :text)",
    "attribute_not_exists(pk) OR n <= :n",
    "NOT #state IN (:text, :other)",
    "n = :n AND #state <> :text",
    "n BETWEEN :n AND :m",
    "begins_with(pk, :text) AND NOT n > :n",
    "n < :n OR due_at >= :m",
    "raw = :raw",
    "flag = :flag",
    // These are left to dynoxide, or refused.
    "size(text) > :n",
    "list[0] = :n",
    "contains(text, :text)",
    "state = :text",
    "n = ",
    "n < :flag",
    "tags = :tags",
];

const UPDATES: &[&str] = &[
    "SET text = :text",
    "SET n = n + :n, #state = :text",
    "SET n = if_not_exists(n, :m) - :n REMOVE text",
    "SET due_at = :n, due_shard = :one",
    "REMOVE due_at, due_shard",
    "REMOVE raw SET #other = :raw, flag = :flag",
    "SET n = m, m = :n",
    "SET list = :list, nothing = :nothing",
    // These are left to dynoxide, or refused.
    "ADD n :n",
    "SET list[0] = :n",
    "SET pk = :text",
    "SET text = :text, text = :other",
    "SET tags = :tags",
];

/// Numbers that look random, the same from each seed.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % n as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn number(&mut self) -> Value {
        if self.one_in(20) {
            return json!({"N": self.of(&["1.5", "007", "1e3", "-0", "12345678901234567890123"])});
        }
        json!({"N": format!("{}", i64::try_from(self.below(20)).unwrap() - 5)})
    }

    fn text(&mut self) -> Value {
        json!({"S": self.of(&["", "a", "b", "P", "zwölf", "with \"quotes\" and \n", "ON"])})
    }

    /// A value for a name: usually of the type that the name promises.
    fn value(&mut self, name: &str) -> Value {
        if self.one_in(30) {
            let wrong = self.of(&["text", "n", "flag", "tags", "list"]);
            return self.value(wrong);
        }
        match name.trim_start_matches(':') {
            "n" | "m" | "due_at" => self.number(),
            "one" | "due_shard" => json!({"N": self.of(&["0", "1"])}),
            "raw" => json!({"B": self.of(&["", "AA==", "AAE=", "AAEC"])}),
            "flag" => json!({"BOOL": self.one_in(2)}),
            "nothing" => json!({"NULL": true}),
            "list" => json!({"L": [self.text(), self.number()]}),
            "map" => json!({"M": {"inner": self.text(), "more": {"L": []}}}),
            "tags" => json!({"SS": ["b", "a"]}),
            _ => self.text(),
        }
    }

    fn key(&mut self) -> Value {
        let sk = self.of(&["a", "ab", "ac", "b", "c\u{D7FF}", "d\u{10FFFF}x"]);
        json!({"pk": {"S": self.of(&["P1", "P2", "P3"])}, "sk": {"S": sk}})
    }

    fn item(&mut self) -> Value {
        let mut item = self.key();
        for name in ["n", "m", "text", "state", "raw", "flag", "nothing", "list", "map"] {
            if self.one_in(3) {
                item[name] = self.value(name);
            }
        }
        if self.one_in(40) {
            item["tags"] = self.value("tags");
        }
        if self.one_in(2) {
            item["due_shard"] = self.value("due_shard");
            item["due_at"] = self.value("due_at");
        }
        item
    }

    /// Adds the names and values that the expressions of a request use.
    fn bind(&mut self, request: &mut Value, expressions: &[&str]) {
        let (mut names, mut values) = (BTreeMap::new(), BTreeMap::new());
        for word in
            expressions.join(" ").split(|c: char| !(c.is_alphanumeric() || "#:_".contains(c)))
        {
            if word.starts_with('#') {
                names.insert(word.to_owned(), json!(word.trim_start_matches('#')));
            } else if word.starts_with(':') {
                values.insert(word.to_owned(), self.value(word));
            }
        }
        match self.below(60) {
            0 => drop(values.insert(":unused".to_owned(), self.text())),
            1 => drop(values.pop_first()),
            2 => drop(names.insert("#state".to_owned(), json!(self.of(&["pk", "n", "text"])))),
            _ => {}
        }
        if !names.is_empty() {
            request["ExpressionAttributeNames"] = json!(names);
        }
        if !values.is_empty() {
            request["ExpressionAttributeValues"] = json!(values);
        }
    }

    fn write(&mut self, kind: &str) -> Value {
        let mut request = json!({"TableName": TABLE});
        let mut expressions = Vec::new();
        if kind == "Put" {
            request["Item"] = self.item();
        } else {
            request["Key"] = self.key();
        }
        if kind == "Update" {
            let update = self.of(UPDATES);
            request["UpdateExpression"] = json!(update);
            expressions.push(update);
        }
        if kind == "ConditionCheck" || self.one_in(2) {
            let condition = self.of(CONDITIONS);
            request["ConditionExpression"] = json!(condition);
            expressions.push(condition);
        }
        if self.one_in(2) {
            request["ReturnValuesOnConditionCheckFailure"] = json!("ALL_OLD");
        }
        self.bind(&mut request, &expressions);
        request
    }

    fn single(&mut self, kind: &str) -> Value {
        let mut request = self.write(kind);
        if kind == "Update" && self.one_in(3) {
            request["ReturnValues"] = json!(self.of(&["ALL_NEW", "NONE", "ALL_OLD"]));
        }
        request
    }

    fn transaction(&mut self) -> Value {
        let writes = (0..=self.below(4)).map(|_| {
            let kind = self.of(&["Put", "Put", "Update", "Delete", "ConditionCheck"]);
            json!({kind: self.write(kind)})
        });
        json!({"TransactItems": writes.collect::<Vec<_>>()})
    }

    fn query(&mut self) -> Value {
        let (keys, index) = self.of(&[
            ("pk = :key", false),
            ("pk = :key AND begins_with(sk, :sk)", false),
            ("pk = :key AND sk BETWEEN :sk AND :to", false),
            ("pk = :key AND sk >= :sk", false),
            ("pk = :key AND sk = :sk", false),
            ("due_shard = :one", true),
            ("due_shard = :one AND due_at <= :n", true),
        ]);
        let mut request = json!({"TableName": TABLE, "KeyConditionExpression": keys});
        let mut expressions = vec![keys];
        if index {
            request["IndexName"] = json!("due");
        } else {
            request["ConsistentRead"] = json!(self.one_in(2));
        }
        if self.one_in(3) {
            let filter =
                self.of(&["attribute_not_exists(n) OR n > :n", "#state = :text", "sk = :sk"]);
            request["FilterExpression"] = json!(filter);
            expressions.push(filter);
        }
        if self.one_in(4) {
            let projection = self.of(&["pk, sk", "pk, sk, #state", "list[0]"]);
            request["ProjectionExpression"] = json!(projection);
            expressions.push(projection);
        } else if self.one_in(6) {
            request["Select"] = json!("COUNT");
        }
        if self.one_in(2) {
            request["Limit"] = json!(self.below(4));
        }
        if self.one_in(2) {
            request["ScanIndexForward"] = json!(self.one_in(2));
        }
        self.bind(&mut request, &expressions);
        let pk = self.of(&["P1", "P2", "P3"]);
        for (name, texts) in
            [(":key", &[pk][..]), (":sk", &["a", "ab", "d", "d\u{10FFFF}"]), (":to", &["b", "z"])]
        {
            if keys.contains(name) && !self.one_in(40) {
                request["ExpressionAttributeValues"][name] = json!({"S": self.of(texts)});
            }
        }
        if self.one_in(3) {
            let mut start = self.key();
            if index {
                start["due_at"] = self.value("due_at");
                start["due_shard"] = request["ExpressionAttributeValues"][":one"].clone();
            } else if !self.one_in(4) {
                start["pk"] = json!({"S": pk});
            }
            request["ExclusiveStartKey"] = start;
        }
        request
    }

    fn request(&mut self) -> (&'static str, Value) {
        match self.below(10) {
            0 | 1 => ("PutItem", self.single("Put")),
            2 | 3 => ("UpdateItem", self.single("Update")),
            4 => ("DeleteItem", self.single("Delete")),
            5 | 6 => ("TransactWriteItems", self.transaction()),
            7 => {
                ("GetItem", json!({"TableName": TABLE, "Key": self.key(), "ConsistentRead": true}))
            }
            8 => {
                let keys: Vec<_> = (0..=self.below(5)).map(|_| self.key()).collect();
                ("BatchGetItem", json!({"RequestItems": {TABLE: {"Keys": keys}}}))
            }
            _ => ("Query", self.query()),
        }
    }
}

/// A database, and one of dynoxide alone.
struct Both {
    ours: Database,
    theirs: Storage,
}

impl Both {
    fn new() -> Self {
        let both =
            Self { ours: Database::in_memory().unwrap(), theirs: Storage::memory().unwrap() };
        let created = both.perform("CreateTable", &serde_json::from_str(CREATE).unwrap());
        assert_eq!(created, 200);
        both
    }

    /// Performs a request on both, compares the answers, and returns the status.
    fn perform(&self, operation: &str, request: &Value) -> u16 {
        let body = request.to_string();
        let ours = self.ours.answer_together(&[(operation, body.as_bytes())]);
        let [ours] = ours.as_slice() else { panic!("{} answers", ours.len()) };
        let vectors = VectorIndexLifecycle::default();
        let theirs = operation::perform(&self.theirs, &vectors, operation, body.as_bytes());
        let (status, theirs) = theirs.map_or_else(|refused| refused, |body| (200, body));
        let text = |body: &[u8]| String::from_utf8_lossy(body).into_owned();
        if operation != "CreateTable" {
            let same = status == ours.status && parsed(&theirs) == parsed(&ours.body);
            assert!(
                same,
                "{operation} {request}:\n{} {}\n{status} {}",
                ours.status,
                text(&ours.body),
                text(&theirs)
            );
        }
        status
    }

    fn compare_rows(&self) {
        let ours = crate::database::tests::connection(&self.ours);
        for table in ["table", "table::gsi::due"] {
            assert_eq!(rows(ours, table), rows(self.theirs.conn(), table), "{table}");
        }
    }
}

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {body:?}"))
}

/// All rows of a table of SQLite, in the order of their keys, with their items parsed.
fn rows(connection: &Connection, table: &str) -> Vec<Vec<Value>> {
    let order = if table == TABLE { "pk, sk" } else { "gsi_pk, gsi_sk, table_pk, table_sk" };
    let sql = format!("SELECT * FROM \"{table}\" ORDER BY {order}");
    let mut select = connection.prepare(&sql).unwrap();
    let n_columns = select.column_count();
    let rows = select.query_map([], |row| {
        let column = |at| {
            Ok(match row.get::<_, Sql>(at)? {
                Sql::Text(text) if text.starts_with('{') => parsed(text.as_bytes()),
                other => json!(format!("{other:?}")),
            })
        };
        (0..n_columns).map(column).collect()
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn random_requests_do_what_they_do_with_dynoxide() {
    let (mut n_direct, mut n_sent) = (0, 0);
    for seed in 1..=SEEDS {
        let both = Both::new();
        let mut random = Random(u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15));
        for _ in 0..REQUESTS {
            let (operation, request) = random.request();
            n_sent += 1;
            n_direct += usize::from(
                both.ours.is_performed_directly(operation, request.to_string().as_bytes()),
            );
            both.perform(operation, &request);
        }
        both.compare_rows();
        println!("seed {seed}: {n_direct} of {n_sent} directly");
    }
    // Otherwise this would compare dynoxide with itself.
    assert!(n_direct * 3 > n_sent, "{n_direct} of {n_sent}");
}

#[test]
fn a_query_ends_with_the_item_before_the_limit_of_a_page() {
    let both = Both::new();
    let text = "x".repeat(300_000);
    for sk in ["a", "b", "c", "d", "e"] {
        let item = json!({"pk": {"S": "P"}, "sk": {"S": sk}, "text": {"S": text}});
        assert_eq!(both.perform("PutItem", &json!({"TableName": TABLE, "Item": item})), 200);
    }
    let mut query = json!({
        "TableName": TABLE, "KeyConditionExpression": "pk = :pk", "ProjectionExpression": "sk",
        "ExpressionAttributeValues": {":pk": {"S": "P"}},
    });
    let ask = |query: &Value| {
        let answers = both.ours.answer_together(&[("Query", query.to_string().as_bytes())]);
        parsed(&answers[0].body)
    };
    let with_dynoxide = ask(&query);
    let directly = ask(&query);
    assert!(both.ours.is_performed_directly("Query", query.to_string().as_bytes()));
    for name in ["Items", "Count", "LastEvaluatedKey"] {
        assert_eq!(directly[name], with_dynoxide[name]);
    }
    assert_eq!(directly["Count"], 3);
    query["ExclusiveStartKey"] = directly["LastEvaluatedKey"].clone();
    let rest = ask(&query);
    assert_eq!((&rest["Count"], rest.get("LastEvaluatedKey")), (&json!(2), None));
}

#[test]
fn a_table_that_is_created_anew_may_have_another_key() {
    let both = Both::new();
    let item = json!({"pk": {"S": "P"}, "sk": {"S": "a"}});
    let put = json!({"TableName": TABLE, "Item": item});
    assert_eq!(both.perform("PutItem", &put), 200);
    let change = |operation: &str, body: &str| {
        assert_eq!(both.ours.answer_together(&[(operation, body.as_bytes())])[0].status, 200);
    };
    change("DeleteTable", r#"{"TableName": "table"}"#);
    change(
        "CreateTable",
        r#"{
            "TableName": "table", "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}]
        }"#,
    );
    let refused = both.ours.answer_together(&[("PutItem", put.to_string().as_bytes())]);
    assert_eq!(refused[0].status, 400);
}
