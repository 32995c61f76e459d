//! The same requests on two databases: one performs them directly where it can, the other one has dynoxide
//! perform all of them. Their answers and their rows have to be the same.

use std::collections::{BTreeMap, HashSet};

use dynoxide::actions::vector_lifecycle::VectorIndexLifecycle;
use rusqlite::types::Value as Sql;
use serde_json::{Value, json};

use super::*;
use crate::database::Database;
use crate::operation;

const TABLE: &str = "table";
const OTHER_TABLE: &str = "other";

/// The keys of a table and its indexes.
struct Schema {
    /// The type of the table's sort key, if it has one.
    sk: Option<&'static str>,
    indexes: &'static [IndexSchema],
}

struct IndexSchema {
    name: &'static str,
    hash: &'static str,
    range: Option<&'static str>,
    projection: &'static str,
}

const DUE: IndexSchema = IndexSchema {
    name: "due",
    hash: "due_shard",
    range: Some("due_at"),
    projection: r#"{"ProjectionType": "INCLUDE", "NonKeyAttributes": ["state"]}"#,
};
const BY_NOTE: IndexSchema = IndexSchema {
    name: "by-note",
    hash: "note",
    range: None,
    projection: r#"{"ProjectionType": "ALL"}"#,
};
const BY_STATE: IndexSchema = IndexSchema {
    name: "by.state",
    hash: "state",
    range: Some("n"),
    projection: r#"{"ProjectionType": "KEYS_ONLY"}"#,
};

/// The first one is Minutehand's own.
const SCHEMAS: &[Schema] = &[
    Schema { sk: Some("S"), indexes: &[DUE] },
    Schema { sk: None, indexes: &[BY_NOTE] },
    Schema { sk: Some("N"), indexes: &[BY_STATE, DUE] },
    Schema { sk: Some("S"), indexes: &[] },
];

impl Schema {
    fn create(&self, table: &str) -> Value {
        let key = |hash: &str, range: Option<&str>| {
            let range = range.map(|name| json!({"AttributeName": name, "KeyType": "RANGE"}));
            let hash = json!({"AttributeName": hash, "KeyType": "HASH"});
            std::iter::once(hash).chain(range).collect::<Vec<_>>()
        };
        let indexes = self.indexes.iter().map(|index| {
            json!({
                "IndexName": index.name, "KeySchema": key(index.hash, index.range),
                "Projection": parsed(index.projection.as_bytes()),
            })
        });
        let mut types = BTreeMap::from([("pk", "S")]);
        types.extend(self.sk.map(|kind| ("sk", kind)));
        for index in self.indexes {
            for name in std::iter::once(index.hash).chain(index.range) {
                let is_text = ["note", "state"].contains(&name);
                types.insert(name, if is_text { "S" } else { "N" });
            }
        }
        let types = types
            .iter()
            .map(|(name, kind)| json!({"AttributeName": name, "AttributeType": kind}))
            .collect::<Vec<_>>();
        let mut create = json!({
            "TableName": table, "BillingMode": "PAY_PER_REQUEST",
            "KeySchema": key("pk", self.sk.map(|_| "sk")), "AttributeDefinitions": types,
        });
        if !self.indexes.is_empty() {
            create["GlobalSecondaryIndexes"] = json!(indexes.collect::<Vec<_>>());
        }
        create
    }
}

/// How often random requests are made, and how many each time.
const SEEDS: u64 = 12;
const REQUESTS: usize = 500;

/// Conditions that are performed directly.
const CONDITIONS: &[&str] = &[
    "attribute_not_exists(pk)",
    "attribute_exists(pk) AND (attribute_not_exists(note) OR note = :note)",
    "attribute_not_exists(pk) OR n <= :n",
    "NOT #state IN (:note, :other)",
    "n = :n AND #state <> :note",
    "n BETWEEN :n AND :m",
    "begins_with(pk, :note) AND NOT n > :n",
    "n < :n OR due_at >= :m",
    "payload = :payload",
    "flag = :flag",
];
/// Conditions that are left to dynoxide, or refused.
const OTHER_CONDITIONS: &[&str] = &[
    "size(note) > :n",
    "steps[0] = :n",
    "contains(note, :note)",
    "state = :note",
    "n = ",
    "n < :flag",
    "tags = :tags",
];

/// Updates that are performed directly.
const UPDATES: &[&str] = &[
    "SET note = :note",
    "SET n = n + :n, #state = :note",
    "SET n = if_not_exists(n, :m) - :n REMOVE note",
    "SET due_at = :n, due_shard = :one",
    "REMOVE due_at, due_shard",
    "REMOVE payload SET #other = :payload, flag = :flag",
    "SET n = m, m = :n",
    "SET steps = :steps, nothing = :nothing",
];
/// Updates that are left to dynoxide, or refused.
const OTHER_UPDATES: &[&str] = &[
    "ADD n :n",
    "SET steps[0] = :n",
    "SET pk = :note",
    "SET note = :note, note = :other",
    "SET tags = :tags",
];

/// Numbers that look random, the same from each seed, and requests that are made of them.
struct Random {
    state: u64,
    schema: &'static Schema,
}

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % n as u64).unwrap()
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// One of the first list, and sometimes one of the second.
    fn one_of<T: Copy>(&mut self, usual: &[T], other: &[T]) -> T {
        let list = if self.one_in(4) { other } else { usual };
        self.of(list)
    }

    fn number(&mut self) -> Value {
        if self.one_in(20) {
            return json!({"N": self.of(&["1.5", "007", "1e3", "-0", "12345678901234567890123"])});
        }
        json!({"N": format!("{}", i64::try_from(self.below(20)).unwrap() - 5)})
    }

    fn text(&mut self) -> Value {
        if self.one_in(600) {
            // About as large as an item may be.
            return json!({"S": "x".repeat(409_540 + self.below(80))});
        }
        json!({"S": self.of(&["", "a", "b", "P", "zwölf", "with \"quotes\" and \n", "ON"])})
    }

    /// A value for a name: usually of the type that the name promises.
    fn value(&mut self, name: &str) -> Value {
        if self.one_in(30) {
            let wrong = self.of(&["note", "n", "flag", "tags", "steps"]);
            return self.value(wrong);
        }
        match name.trim_start_matches(':') {
            "n" | "m" | "due_at" => self.number(),
            "one" | "due_shard" => json!({"N": self.of(&["0", "1"])}),
            "payload" => json!({"B": self.of(&["", "AA==", "AAE=", "AAEC"])}),
            "flag" => json!({"BOOL": self.one_in(2)}),
            "nothing" => json!({"NULL": true}),
            "steps" => json!({"L": [self.text(), self.number()]}),
            "extras" => json!({"M": {"inner": self.text(), "more": {"L": []}}}),
            "tags" => json!({"SS": ["b", "a"]}),
            _ => self.text(),
        }
    }

    fn key(&mut self) -> Value {
        let mut key = json!({"pk": {"S": self.of(&["P1", "P2", "P3"])}});
        if self.schema.sk.is_some() {
            key["sk"] = self.sort_key();
        }
        key
    }

    fn sort_key(&mut self) -> Value {
        match self.schema.sk {
            Some("N") => self.number(),
            _ => json!({"S": self.of(&["a", "ab", "ac", "b", "c\u{D7FF}", "d\u{10FFFF}x"])}),
        }
    }

    fn table(&mut self) -> &'static str {
        if self.one_in(8) { OTHER_TABLE } else { TABLE }
    }

    fn item(&mut self) -> Value {
        let mut item = self.key();
        for name in ["n", "m", "note", "state", "payload", "flag", "nothing", "steps", "extras"] {
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
            2 => drop(names.insert("#state".to_owned(), json!(self.of(&["pk", "n", "note"])))),
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
        let mut request = json!({"TableName": self.table()});
        let mut expressions = Vec::new();
        if kind == "Put" {
            request["Item"] = self.item();
        } else {
            request["Key"] = self.key();
        }
        if kind == "Update" {
            let update = self.one_of(UPDATES, OTHER_UPDATES);
            request["UpdateExpression"] = json!(update);
            expressions.push(update);
        }
        if kind == "ConditionCheck" || self.one_in(2) {
            let condition = self.one_of(CONDITIONS, OTHER_CONDITIONS);
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
        let index = match self.schema.indexes {
            [] => None,
            indexes => self.one_in(3).then(|| &indexes[self.below(indexes.len())]),
        };
        let keys = match index {
            Some(index) => self.keys_of(index),
            None if self.schema.sk.is_none() => "pk = :key".to_owned(),
            None => self
                .of(&[
                    "pk = :key",
                    "pk = :key AND begins_with(sk, :sk)",
                    "pk = :key AND sk BETWEEN :sk AND :to",
                    "pk = :key AND sk >= :sk",
                    "pk = :key AND sk = :sk",
                ])
                .to_owned(),
        };
        let mut request = json!({"TableName": TABLE, "KeyConditionExpression": keys});
        let mut expressions = vec![keys.as_str()];
        if let Some(index) = index {
            request["IndexName"] = json!(index.name);
        } else {
            request["ConsistentRead"] = json!(self.one_in(2));
        }
        if self.one_in(3) {
            let filter =
                self.of(&["attribute_not_exists(n) OR n > :n", "#state = :note", "sk = :sk"]);
            request["FilterExpression"] = json!(filter);
            expressions.push(filter);
        }
        if self.one_in(4) {
            let projection = self.of(&["pk, sk", "pk, sk, #state", "steps[0]"]);
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
        let pk = json!({"S": self.of(&["P1", "P2", "P3"])});
        let (low, high) = match self.schema.sk {
            Some("N") => (self.number(), json!({"N": "9"})),
            _ => (
                json!({"S": self.of(&["a", "ab", "d", "d\u{10FFFF}"])}),
                json!({"S": self.of(&["b", "z"])}),
            ),
        };
        for (name, value) in [(":key", &pk), (":sk", &low), (":to", &high)] {
            if keys.contains(name) && !self.one_in(40) {
                request["ExpressionAttributeValues"][name] = value.clone();
            }
        }
        if self.one_in(3) {
            request["ExclusiveStartKey"] = self.start(&request, &pk, index);
        }
        request
    }

    /// A key at which a query may begin, usually in the partition that it reads.
    fn start(&mut self, request: &Value, pk: &Value, index: Option<&IndexSchema>) -> Value {
        let mut start = self.key();
        if let Some(index) = index {
            let hash = format!(":{}", index.hash);
            start[index.hash] = request["ExpressionAttributeValues"][hash].clone();
            if let Some(range) = index.range {
                start[range] = self.value(range);
            }
        } else if !self.one_in(4) {
            start["pk"] = pk.clone();
        }
        start
    }

    /// A condition on the keys of an index.
    fn keys_of(&mut self, index: &IndexSchema) -> String {
        let name = |name: &str| if name == "state" { "#state".to_owned() } else { name.to_owned() };
        let hash = format!("{} = :{}", name(index.hash), index.hash);
        match index.range {
            Some(range) if self.one_in(2) => {
                let comparison = self.of(&["=", "<", "<=", ">", ">="]);
                format!("{hash} AND {} {comparison} :{range}", name(range))
            }
            _ => hash,
        }
    }

    fn request(&mut self) -> (&'static str, Value) {
        match self.below(10) {
            0 | 1 => ("PutItem", self.single("Put")),
            2 | 3 => ("UpdateItem", self.single("Update")),
            4 => ("DeleteItem", self.single("Delete")),
            5 | 6 => ("TransactWriteItems", self.transaction()),
            7 => {
                let (table, key) = (self.table(), self.key());
                ("GetItem", json!({"TableName": table, "Key": key, "ConsistentRead": true}))
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
    fn new(schema: &Schema) -> Self {
        let both =
            Self { ours: Database::in_memory().unwrap(), theirs: Storage::memory().unwrap() };
        for table in [TABLE, OTHER_TABLE] {
            assert_eq!(both.perform("CreateTable", &schema.create(table)), 200);
        }
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

    fn compare_rows(&self, schema: &Schema) {
        let ours = crate::database::tests::connection(&self.ours);
        for table in [TABLE, OTHER_TABLE] {
            let indexes =
                schema.indexes.iter().map(|index| format!("{table}::gsi::{}", index.name));
            for name in std::iter::once(table.to_owned()).chain(indexes) {
                assert_eq!(rows(ours, &name), rows(self.theirs.conn(), &name), "{name}");
            }
        }
    }
}

fn parsed(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {body:?}"))
}

/// All rows of a table of SQLite, in the order of their keys, with their items parsed.
fn rows(connection: &Connection, table: &str) -> Vec<Vec<Value>> {
    let is_index = table.contains("::gsi::");
    let order = if is_index { "gsi_pk, gsi_sk, table_pk, table_sk" } else { "pk, sk" };
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
    let mut expressions = HashSet::new();
    for (seed, schema) in (1..=SEEDS).zip(SCHEMAS.iter().cycle()) {
        let both = Both::new(schema);
        let state = u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15);
        let mut random = Random { state, schema };
        for _ in 0..REQUESTS {
            let (operation, request) = random.request();
            n_sent += 1;
            if both.ours.is_performed_directly(operation, request.to_string().as_bytes()) {
                n_direct += 1;
                let names = ["ConditionExpression", "UpdateExpression"];
                let texts = names.iter().filter_map(|name| request[name].as_str());
                expressions.extend(texts.map(str::to_owned));
            }
            both.perform(operation, &request);
        }
        both.compare_rows(schema);
        println!("seed {seed}: {n_direct} of {n_sent} directly");
    }
    // Otherwise this would compare dynoxide with itself.
    assert!(n_direct * 3 > n_sent, "{n_direct} of {n_sent}");
    for expression in CONDITIONS.iter().chain(UPDATES) {
        assert!(expressions.contains(*expression), "not performed directly: {expression}");
    }
}

#[test]
fn a_query_ends_with_the_item_before_the_limit_of_a_page() {
    let both = Both::new(&SCHEMAS[0]);
    let text = "x".repeat(300_000);
    for sk in ["a", "b", "c", "d", "e"] {
        let item = json!({"pk": {"S": "P"}, "sk": {"S": sk}, "note": {"S": text}});
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
fn what_is_nearly_too_large_is_refused_as_dynoxide_refuses_it() {
    let both = Both::new(&SCHEMAS[0]);
    let key = json!({"pk": {"S": "P1"}, "sk": {"S": "a"}});
    let request = |update: &str, condition: Option<&str>, n_bytes: usize| {
        let mut request = json!({
            "TableName": TABLE, "Key": key, "UpdateExpression": update,
            "ExpressionAttributeValues": {":note": {"S": "x".repeat(n_bytes)}},
        });
        if let Some(condition) = condition {
            request["ConditionExpression"] = json!(condition);
        }
        request
    };
    let (set, set_new) = ("SET note = :note", "SET note = if_not_exists(note, :note)");
    let is_new = Some("attribute_not_exists(pk)");
    for (update, condition) in [(set, None), (set_new, None), (set, is_new)] {
        // The first request of a form goes to dynoxide.
        let small = request(update, condition, 1);
        both.perform("UpdateItem", &small);
        let small = small.to_string();
        assert!(both.ours.is_performed_directly("UpdateItem", small.as_bytes()), "{update}");
        for n_bytes in [250_000, 409_560, 409_580, 409_591, 409_600, 409_700, 500_000] {
            let update = request(update, condition, n_bytes);
            both.perform("UpdateItem", &update);
            both.perform("TransactWriteItems", &json!({"TransactItems": [{"Update": update}]}));
        }
    }
    both.compare_rows(&SCHEMAS[0]);
}

#[test]
fn a_table_that_is_created_anew_may_have_another_key() {
    let both = Both::new(&SCHEMAS[0]);
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
