//! Cloud services: what is conditional about storing and deleting them.

use minutehand_ports::store::{CloudServiceRecord, CollectionRecord, Saved};

use super::records::{cloud_service, collection, place, segment};
use super::{Subject, whole_list};

behaviours! { $ cloud_services:
    a_cloud_service_is_kept_as_it_was_given,
    only_the_next_version_is_kept,
    a_cloud_service_of_the_same_name_is_another_one,
    only_the_version_that_was_read_is_deleted,
    cloud_services_are_listed_by_name_and_not_among_collections,
    the_label_of_a_collection_comes_and_goes,
}

/// The next version of a cloud service, with another label.
fn next(service: &CloudServiceRecord) -> CloudServiceRecord {
    let label = format!("{}!", service.label);
    CloudServiceRecord { label, version: service.version + 1, ..service.clone() }
}

async fn a_cloud_service_is_kept_as_it_was_given(subject: &Subject) {
    let cloud_services = subject.cloud_services();
    assert_eq!(cloud_services.find(&place("Sub", "Group")).await.unwrap(), None);
    assert_eq!(cloud_services.save(&cloud_service("Group")).await.unwrap(), Saved::Kept);
    let found = cloud_services.find(&place("SUB", "GROUP")).await.unwrap().unwrap();
    assert_eq!(found, cloud_service("Group"));
    assert_eq!(found.place.group.as_str(), "Group");
    assert_eq!(cloud_services.find(&place("Other", "Group")).await.unwrap(), None);
}

async fn only_the_next_version_is_kept(subject: &Subject) {
    let cloud_services = subject.cloud_services();
    let first = cloud_service("Group");
    assert_eq!(cloud_services.save(&next(&first)).await.unwrap(), Saved::Stale);
    assert_eq!(cloud_services.save(&first).await.unwrap(), Saved::Kept);
    assert_eq!(cloud_services.save(&first).await.unwrap(), Saved::Stale);
    let second = next(&first);
    assert_eq!(cloud_services.save(&second).await.unwrap(), Saved::Kept);
    assert_eq!(cloud_services.save(&second).await.unwrap(), Saved::Stale);
    assert_eq!(cloud_services.save(&next(&next(&second))).await.unwrap(), Saved::Stale);
    assert_eq!(cloud_services.find(&first.place).await.unwrap(), Some(second));
}

async fn a_cloud_service_of_the_same_name_is_another_one(subject: &Subject) {
    let cloud_services = subject.cloud_services();
    let first = cloud_service("Group");
    assert_eq!(cloud_services.save(&first).await.unwrap(), Saved::Kept);
    let namesake = CloudServiceRecord { uid: "another".to_owned(), ..first.clone() };
    assert_eq!(cloud_services.save(&next(&namesake)).await.unwrap(), Saved::Stale);
    assert_eq!(cloud_services.delete(&namesake).await.unwrap(), Saved::Stale);
    assert_eq!(cloud_services.find(&first.place).await.unwrap(), Some(first));
}

async fn only_the_version_that_was_read_is_deleted(subject: &Subject) {
    let cloud_services = subject.cloud_services();
    let first = cloud_service("Group");
    assert_eq!(cloud_services.delete(&first).await.unwrap(), Saved::Stale);
    assert_eq!(cloud_services.save(&first).await.unwrap(), Saved::Kept);
    assert_eq!(cloud_services.delete(&next(&first)).await.unwrap(), Saved::Stale);
    assert_eq!(cloud_services.delete(&first).await.unwrap(), Saved::Kept);
    assert_eq!(cloud_services.find(&first.place).await.unwrap(), None);
    assert_eq!(cloud_services.save(&first).await.unwrap(), Saved::Kept);
}

async fn cloud_services_are_listed_by_name_and_not_among_collections(subject: &Subject) {
    let cloud_services = subject.cloud_services();
    subject.collection("jc").await;
    for group in ["b", "C", "a"] {
        assert_eq!(cloud_services.save(&cloud_service(group)).await.unwrap(), Saved::Kept);
    }
    let elsewhere = CloudServiceRecord { place: place("Other", "d"), ..cloud_service("d") };
    assert_eq!(cloud_services.save(&elsewhere).await.unwrap(), Saved::Kept);
    let sub = segment("sub");
    let listed = whole_list(2, async |page| cloud_services.list(&sub, page).await).await;
    let names: Vec<_> = listed.iter().map(|service| service.place.group.as_str()).collect();
    assert_eq!(names, ["a", "b", "C"]);
    assert_eq!(subject.collection_names(&segment("Sub"), None, 10).await, ["jc"]);
}

async fn the_label_of_a_collection_comes_and_goes(subject: &Subject) {
    let labelled = CollectionRecord { label: Some("YQ==".to_owned()), ..collection("jc") };
    let mut record = subject.with_collection(&labelled).await;
    assert_eq!(record, labelled);
    for label in [None, Some("Yg==".to_owned()), Some("Yw==".to_owned())] {
        let changed = CollectionRecord { label: label.clone(), ..record };
        assert_eq!(subject.replace_collection(&changed).await, Saved::Kept);
        record = subject.find_collection(&changed).await.unwrap();
        assert_eq!(record.label, label);
    }
}
