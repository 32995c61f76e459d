//! What the SDK receives: answers, typed errors, capacity.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, Capacity, ConditionCheck, KeysAndAttributes, Put, ReturnConsumedCapacity,
    TransactWriteItem, Update,
};
use minutehand_embedded::Store;
use tokio::task::JoinSet;

use crate::table::{INDEX, TABLE, create, get, key, put_new, s};

async fn new_table() -> (Store, Client) {
    let store = Store::in_memory().unwrap();
    let client = store.client();
    create(&client).await;
    (store, client)
}

#[tokio::test]
async fn an_item_is_read_as_it_was_put() {
    let (_store, client) = new_table().await;
    let put = put_new(&client, "a", "1").item("text", s("Grüße, \"quoted\"\n"));
    let sent = put.get_item().clone();
    put.send().await.unwrap();
    assert_eq!(get(&client, "a", "1").await, sent);
    assert_eq!(get(&client, "a", "2").await, None);
}

#[tokio::test]
async fn the_index_contains_items_with_its_keys_in_order() {
    let (_store, client) = new_table().await;
    for (pk, due_at) in [("a", "2027-02"), ("b", "2027-01"), ("c", "2027-03")] {
        let put = put_new(&client, pk, "T").item("due_shard", s("7")).item("due_at", s(due_at));
        put.send().await.unwrap();
    }
    put_new(&client, "d", "not due").send().await.unwrap();
    let due = client
        .query()
        .table_name(TABLE)
        .index_name(INDEX)
        .key_condition_expression("due_shard = :shard AND due_at <= :until")
        .expression_attribute_values(":shard", s("7"))
        .expression_attribute_values(":until", s("2027-02"))
        .send()
        .await
        .unwrap();
    let names: Vec<_> = due.items().iter().map(|item| item["pk"].as_s().unwrap()).collect();
    assert_eq!(names, ["b", "a"]);
}

/// The first request of each form goes to dynoxide, the others are performed directly.
#[tokio::test]
async fn between_includes_both_ends() {
    let (_store, client) = new_table().await;
    put_new(&client, "a", "5").item("n", AttributeValue::N("5".to_owned())).send().await.unwrap();
    for (low, high, expected) in
        [(5, 5, true), (5, 5, true), (4, 5, true), (5, 6, true), (3, 4, false), (6, 7, false)]
    {
        let query = client
            .query()
            .table_name(TABLE)
            .key_condition_expression("pk = :pk AND sk BETWEEN :low AND :high")
            .expression_attribute_values(":pk", s("a"))
            .expression_attribute_values(":low", s(low.to_string()))
            .expression_attribute_values(":high", s(high.to_string()));
        let found = query.send().await.unwrap().count();
        assert_eq!(found, i32::from(expected), "{low} to {high}");
        let update = client
            .update_item()
            .table_name(TABLE)
            .set_key(Some(key("a", "5")))
            .update_expression("SET note = :note")
            .condition_expression("n BETWEEN :low AND :high")
            .expression_attribute_values(":note", s("seen"))
            .expression_attribute_values(":low", AttributeValue::N(low.to_string()))
            .expression_attribute_values(":high", AttributeValue::N(high.to_string()));
        assert_eq!(update.send().await.is_ok(), expected, "{low} to {high}");
    }
}

#[tokio::test]
async fn a_query_is_read_page_by_page() {
    let (_store, client) = new_table().await;
    for sk in ["1", "2", "3", "4", "5"] {
        put_new(&client, "a", sk).send().await.unwrap();
    }
    let mut pages = client
        .query()
        .table_name(TABLE)
        .key_condition_expression("pk = :pk")
        .expression_attribute_values(":pk", s("a"))
        .limit(2)
        .into_paginator()
        .send();
    let mut sizes = Vec::new();
    while let Some(page) = pages.next().await {
        sizes.push(page.unwrap().count());
    }
    assert_eq!(sizes, [2, 2, 1]);
}

#[tokio::test]
async fn a_condition_that_fails_is_a_typed_error() {
    let (_store, client) = new_table().await;
    put_new(&client, "a", "1").send().await.unwrap();
    let lost = put_new(&client, "a", "1").send().await.unwrap_err();
    assert!(lost.into_service_error().is_conditional_check_failed_exception());
}

#[tokio::test]
async fn a_missing_table_is_a_typed_error() {
    let store = Store::in_memory().unwrap();
    let error = put_new(&store.client(), "a", "1").send().await.unwrap_err();
    assert!(error.into_service_error().is_resource_not_found_exception());
}

#[tokio::test]
async fn an_unknown_operation_is_a_service_error() {
    let store = Store::in_memory().unwrap();
    let error = store.client().describe_limits().send().await.unwrap_err();
    assert_eq!(error.code(), Some("UnknownOperationException"));
    assert_eq!(error.raw_response().unwrap().status().as_u16(), 400);
}

#[tokio::test]
async fn a_transaction_writes_all_its_items() {
    let (_store, client) = new_table().await;
    let mut transaction = client.transact_write_items();
    for n in 0..100 {
        transaction = transaction.transact_items(put(&n.to_string()));
    }
    transaction.send().await.unwrap();
    for n in 0..100 {
        assert!(get(&client, &n.to_string(), "T").await.is_some());
    }
}

#[tokio::test]
async fn a_cancelled_transaction_writes_nothing_and_gives_a_reason_for_each_item() {
    let (_store, client) = new_table().await;
    put_new(&client, "taken", "T").send().await.unwrap();
    let update = Update::builder()
        .table_name(TABLE)
        .set_key(Some(key("taken", "T")))
        .update_expression("SET seen = :true")
        .expression_attribute_values(":true", s("true"));
    let check = ConditionCheck::builder()
        .table_name(TABLE)
        .set_key(Some(key("absent", "T")))
        .condition_expression("attribute_exists(pk)");
    let cancelled = client
        .transact_write_items()
        .transact_items(put("free"))
        .transact_items(put("taken"))
        .transact_items(
            TransactWriteItem::builder().condition_check(check.build().unwrap()).build(),
        )
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = cancelled else {
        panic!("{cancelled:?}");
    };
    let reasons = cancelled.cancellation_reasons().iter();
    let codes: Vec<_> = reasons.map(|reason| reason.code().unwrap()).collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]);
    assert_eq!(get(&client, "free", "T").await, None);

    let both = client
        .transact_write_items()
        .transact_items(put("free"))
        .transact_items(TransactWriteItem::builder().update(update.build().unwrap()).build());
    both.send().await.unwrap();
    assert_eq!(get(&client, "taken", "T").await.unwrap()["seen"], s("true"));
}

#[tokio::test]
async fn a_batch_reads_several_items() {
    let (_store, client) = new_table().await;
    put_new(&client, "a", "1").send().await.unwrap();
    put_new(&client, "b", "1").send().await.unwrap();
    let wanted = KeysAndAttributes::builder().set_keys(Some(vec![
        key("a", "1"),
        key("b", "1"),
        key("c", "1"),
    ]));
    let answer =
        client.batch_get_item().request_items(TABLE, wanted.build().unwrap()).send().await.unwrap();
    assert_eq!(answer.responses().unwrap()[TABLE].len(), 2);
    assert!(answer.unprocessed_keys().unwrap().is_empty());
}

#[tokio::test]
async fn consumed_capacity_is_reported_for_table_and_index() {
    let (_store, client) = new_table().await;
    let put = put_new(&client, "a", "1")
        .item("due_shard", s("7"))
        .item("due_at", s("2027-01"))
        .return_consumed_capacity(ReturnConsumedCapacity::Indexes);
    let consumed = put.send().await.unwrap().consumed_capacity.unwrap();
    let units = |capacity: &Capacity| capacity.capacity_units();
    assert_eq!(consumed.capacity_units(), Some(2.0));
    assert_eq!(consumed.table().and_then(units), Some(1.0));
    let indexes = consumed.global_secondary_indexes().unwrap();
    assert_eq!(indexes.get(INDEX).and_then(units), Some(1.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_writers_wins_and_all_are_answered() {
    let (_store, client) = new_table().await;
    let mut racers = JoinSet::new();
    for n in 0..64 {
        let client = client.clone();
        racers.spawn(async move {
            put_new(&client, &n.to_string(), "own").send().await.unwrap();
            match put_new(&client, "one", "for all").send().await {
                Ok(_) => 1,
                Err(error) => {
                    let error = error.into_service_error();
                    assert!(error.is_conditional_check_failed_exception(), "{error:?}");
                    0
                }
            }
        });
    }
    let won: Vec<i32> = racers.join_all().await;
    assert_eq!(won.iter().sum::<i32>(), 1);
    for n in 0..64 {
        assert!(get(&client, &n.to_string(), "own").await.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_beyond_the_limit_wait_for_a_permit() {
    let (_store, client) = new_table().await;
    let mut callers = JoinSet::new();
    for n in 0..minutehand_embedded::IN_FLIGHT_MAX * 2 {
        let client = client.clone();
        callers.spawn(async move {
            put_new(&client, &n.to_string(), "T").send().await.unwrap();
        });
    }
    assert_eq!(callers.join_all().await.len(), minutehand_embedded::IN_FLIGHT_MAX * 2);
}

#[tokio::test]
async fn a_client_works_after_its_store_is_dropped_but_not_after_it_is_closed() {
    let (store, client) = new_table().await;
    drop(store);
    put_new(&client, "a", "1").send().await.unwrap();

    let (store, client) = new_table().await;
    store.close().await;
    let error = put_new(&client, "a", "1").send().await.unwrap_err();
    let failure = error.as_service_error();
    assert!(failure.is_none(), "the store is closed, so nothing answers: {failure:?}");
}

fn put(pk: &str) -> TransactWriteItem {
    let put = Put::builder()
        .table_name(TABLE)
        .set_item(Some(key(pk, "T")))
        .condition_expression("attribute_not_exists(pk)");
    TransactWriteItem::builder().put(put.build().unwrap()).build()
}
