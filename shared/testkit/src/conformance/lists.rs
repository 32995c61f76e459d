//! Lists: in order, in pages that lose nothing and double nothing, of what was asked for and no
//! more.

use minutehand_ports::StoreError;
use minutehand_ports::store::{CollectionRecord, PageRequest, Saved};

use super::Subject;
use super::records::{collection_in, job, long_document, numbered, segment};
use super::subject::{first_page, whole_list};

behaviours! { $ lists:
    what_is_empty_is_one_empty_page,
    jobs_are_in_the_order_of_their_names_without_regard_to_case,
    collections_are_in_the_order_of_their_names_without_regard_to_case,
    a_list_has_what_was_just_changed,
    pages_of_any_size_make_the_whole_list,
    pages_of_long_items_make_the_whole_list,
    a_page_holds_as_many_long_items_as_were_asked_for,
    what_was_there_all_the_time_is_listed_whatever_comes_and_goes,
    a_page_goes_on_though_the_last_item_is_gone,
    a_group_lists_its_own_and_a_subscription_all,
    pages_of_a_group_make_its_whole_list,
    a_list_has_nothing_of_its_neighbours,
    a_made_up_position_does_not_lead_out_of_the_list,
}

/// A subscription with these collections, all in one group.
async fn subscription_of(subject: &Subject, names: &[&str]) {
    for name in names {
        subject.with_collection(&collection_in("Sub", "Group", name)).await;
    }
}

async fn what_is_empty_is_one_empty_page(subject: &Subject) {
    let jc = subject.collection("jc").await;
    let jobs = subject.jobs_page(&jc, first_page(10)).await.unwrap();
    assert_eq!((jobs.items.len(), jobs.next), (0, None));
    let nowhere = segment("Nowhere");
    let listed = subject.collections_page(&nowhere, None, first_page(10)).await.unwrap();
    assert_eq!((listed.items.len(), listed.next), (0, None));
    let sub = segment("Sub");
    let listed = subject.collections_page(&sub, Some(&nowhere), first_page(10)).await.unwrap();
    assert_eq!((listed.items.len(), listed.next), (0, None));
}

/// Names in the order in which they have to come; created in another one.
const IN_ORDER: [&str; 12] = ["0", "10", "9", "a", "A-1", "a.1", "a1", "a_1", "aA", "AB", "b", "Z"];
const CREATED: [usize; 12] = [7, 2, 11, 0, 5, 9, 4, 1, 10, 3, 8, 6];

fn created() -> Vec<&'static str> {
    CREATED.iter().filter_map(|n| IN_ORDER.get(*n).copied()).collect()
}

/// The names in the order of their lower-case bytes, which is the order of the list.
fn sorted() -> Vec<&'static str> {
    let mut names = IN_ORDER.to_vec();
    names.sort_by_key(|name| name.to_ascii_lowercase());
    names
}

async fn jobs_are_in_the_order_of_their_names_without_regard_to_case(subject: &Subject) {
    let jc = subject.collection_with(&created()).await;
    for items_max in [5, 100] {
        assert_eq!(subject.job_names(&jc, items_max).await, sorted());
    }
}

async fn collections_are_in_the_order_of_their_names_without_regard_to_case(subject: &Subject) {
    subscription_of(subject, &created()).await;
    for items_max in [5, 100] {
        let names = subject.collection_names(&segment("sUB"), None, items_max).await;
        assert_eq!(names, sorted());
    }
}

async fn a_list_has_what_was_just_changed(subject: &Subject) {
    let jc = subject.collection("jc").await;
    for n in 0..10_u8 {
        let mut j = subject.job(&jc, "j").await;
        j.sealed = Some(vec![n]);
        assert_eq!(subject.replace_definition(&jc, &j).await, Saved::Kept);
        let listed = subject.jobs_page(&jc, first_page(10)).await.unwrap().items;
        j.version += 1;
        assert_eq!(listed.as_slice(), std::slice::from_ref(&j));
        assert_eq!(subject.delete_job(&jc, &j).await, Saved::Kept);
        assert!(subject.job_names(&jc, 10).await.is_empty());
    }
}

async fn pages_of_any_size_make_the_whole_list(subject: &Subject) {
    let names = numbered("j", 23);
    let jc = subject.collection_with(&names).await;
    for items_max in [1, 2, 7, 22, 23, 24, 1_000, u32::MAX] {
        assert_eq!(subject.job_names(&jc, items_max).await, names, "{items_max}");
    }
}

/// A collection with eighty jobs of 16 KB: 1.3 MB, and DynamoDB answers with 1 MB at most.
async fn with_long_jobs(subject: &Subject) -> (CollectionRecord, Vec<String>) {
    let (jc, names) = (subject.collection("jc").await, numbered("j", 80));
    for name in &names {
        let mut long = job(name);
        long.document = long_document('x');
        assert_eq!(subject.create_job(&jc, &long, None).await, Saved::Kept);
    }
    (jc, names)
}

async fn pages_of_long_items_make_the_whole_list(subject: &Subject) {
    let (jc, names) = with_long_jobs(subject).await;
    for items_max in [30, 64, 70, 100] {
        assert_eq!(subject.job_names(&jc, items_max).await, names, "{items_max}");
    }
}

async fn a_page_holds_as_many_long_items_as_were_asked_for(subject: &Subject) {
    let (jc, _) = with_long_jobs(subject).await;
    for items_max in [70, 80, 500] {
        let page = subject.jobs_page(&jc, first_page(items_max)).await.unwrap();
        assert_eq!(page.items.len(), 80.min(usize::try_from(items_max).unwrap()));
        assert!(page.items.iter().all(|job| job.document == long_document('x')));
    }
}

async fn what_was_there_all_the_time_is_listed_whatever_comes_and_goes(subject: &Subject) {
    let (lasting, passing) = (numbered("j", 20), numbered("k", 40));
    let jc = subject.collection_with(&lasting).await;
    let mut listed = Vec::new();
    let (mut from, mut passing) = (None, passing.into_iter());
    loop {
        let page = PageRequest { from, items_max: 3 };
        let page = subject.jobs_page(&jc, page).await.unwrap();
        listed.extend(page.items.into_iter().map(|job| job.name.as_str().to_owned()));
        from = page.next;
        if from.is_none() {
            break;
        }
        // One comes right behind every page and one far behind it; one in front of it goes again.
        for beside in [listed.last().unwrap().clone(), "a".to_owned()] {
            let Some(name) = passing.next() else { continue };
            subject.job(&jc, &format!("{beside}.{name}")).await;
        }
        let going = listed.iter().rfind(|name| name.contains('.'));
        if let Some(going) = going.map(|name| super::records::named(name)) {
            let job = subject.find_job(&jc, &going).await.unwrap();
            assert_eq!(subject.delete_job(&jc, &job).await, Saved::Kept);
        }
        listed.retain(|name| !name.contains('.'));
    }
    listed.retain(|name| !name.contains('.'));
    assert_eq!(listed, lasting);
}

async fn a_page_goes_on_though_the_last_item_is_gone(subject: &Subject) {
    let names = numbered("j", 6);
    let jc = subject.collection_with(&names).await;
    let listed = whole_list(2, async |page| {
        let page = subject.jobs_page(&jc, page).await?;
        if let Some(last) = page.items.last() {
            assert_eq!(subject.delete_job(&jc, last).await, Saved::Kept);
        }
        Ok(page)
    })
    .await;
    assert_eq!(listed.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), names);
}

async fn a_group_lists_its_own_and_a_subscription_all(subject: &Subject) {
    for (group, name) in
        [("One", "c"), ("Two", "b"), ("One", "A"), ("Two", "C"), ("One2", "d"), ("One", "e")]
    {
        subject.with_collection(&collection_in("Sub", group, name)).await;
    }
    let sub = segment("sub");
    for (group, names) in
        [("one", &["A", "c", "e"] as &[_]), ("TWO", &["b", "C"]), ("one2", &["d"]), ("on", &[])]
    {
        assert_eq!(subject.collection_names(&sub, Some(&segment(group)), 10).await, names);
    }
    assert_eq!(subject.collection_names(&sub, None, 10).await, ["A", "b", "c", "C", "d", "e"]);
}

async fn pages_of_a_group_make_its_whole_list(subject: &Subject) {
    let mut own = Vec::new();
    for (n, name) in numbered("jc", 30).into_iter().enumerate() {
        // Five of the group, in two runs and one alone, among others.
        let is_own = [3, 4, 17, 28, 29].contains(&n);
        let group = if is_own { "Own" } else { "Other" };
        subject.with_collection(&collection_in("Sub", group, &name)).await;
        own.extend(is_own.then_some(name));
    }
    for items_max in [1, 2, 4, 5, 100] {
        let group = segment("own");
        let names = subject.collection_names(&segment("Sub"), Some(&group), items_max).await;
        assert_eq!(names, own, "{items_max}");
        // What a page holds does not depend on what lies between.
        let page = first_page(items_max);
        let page = subject.collections_page(&segment("Sub"), Some(&group), page).await.unwrap();
        assert_eq!(page.items.len(), 5.min(usize::try_from(items_max).unwrap()));
    }
}

async fn a_list_has_nothing_of_its_neighbours(subject: &Subject) {
    let lists = [("s", "u"), ("s1", "u1"), ("s-", "u-"), ("t", "v")].map(|(subscription, uid)| {
        let mut jc = collection_in(subscription, "g", &format!("in-{uid}"));
        uid.clone_into(&mut jc.collection.uid);
        (jc, format!("of-{uid}"))
    });
    for (jc, job) in &lists {
        let jc = subject.with_collection(jc).await;
        subject.job(&jc, job).await;
    }
    for (jc, job) in lists {
        let names = subject.collection_names(&jc.place.subscription, None, 10).await;
        assert_eq!(names, [jc.collection.name.as_str()]);
        assert_eq!(subject.job_names(&jc, 10).await, [job]);
    }
}

async fn a_made_up_position_does_not_lead_out_of_the_list(subject: &Subject) {
    let names = numbered("j", 5);
    let jc = subject.collection_with(&names).await;
    subject.with_collection(&collection_in("Sub", "Group", "other")).await;
    let long = "z".repeat(1_024);
    let longest_letters = "\u{10FFFF}".repeat(256);
    let positions =
        ["0", "j-002", "J-002", "j-0021", "z", "C", "#", "J#j-001", "\0", "\u{10FFFF}", " "];
    for position in positions.into_iter().chain([long.as_str(), longest_letters.as_str()]) {
        let page = || PageRequest { from: Some(position.to_owned()), items_max: 100 };
        let jobs = subject.jobs_page(&jc, page()).await;
        let jobs: Result<Vec<_>, StoreError> =
            jobs.map(|page| page.items.iter().map(|job| job.name.key()).collect());
        let after: Vec<_> = names.iter().filter(|name| name.as_str() > position).cloned().collect();
        assert_eq!(jobs.unwrap(), after, "{position:?}");
        // The collections' positions are made otherwise; what is theirs is found, and nothing else.
        let sub = segment("Sub");
        let listed = subject.collections_page(&sub, None, page()).await.unwrap().items;
        assert!(listed.len() <= 2, "{position:?}");
    }
    let page = async |page| subject.collections_page(&segment("Sub"), None, page).await;
    assert_eq!(whole_list(100, page).await.len(), 2);
}
