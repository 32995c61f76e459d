//! The classic API: cloud services, collections in XML, jobs in JSON.

use minutehand_ports::store::CountersAdd;
use minutehand_rest::{Access, Scope, Token};

use crate::support::{Answer, Api, GROUP, Trouble, VERSION};

/// The SHA-256 of `token`.
const TOKEN: [u8; 32] = [
    0x3c, 0x46, 0x9e, 0x9d, 0x6c, 0x58, 0x75, 0xd3, 0x7a, 0x43, 0xf3, 0x53, 0xd4, 0xf8, 0x8e, 0x61,
    0xfc, 0xf8, 0x12, 0xc6, 0x6e, 0xee, 0x34, 0x57, 0x46, 0x5a, 0x40, 0xb0, 0xda, 0x41, 0x53, 0xe0,
];
const NAMESPACES: &str = r#" xmlns="http://schemas.microsoft.com/windowsazure" xmlns:i="http://www.w3.org/2001/XMLSchema-instance""#;
/// The cloud service of the group that the other tests use.
const SERVICE: &str = "/S1/cloudservices/RG";
const COLLECTION: &str = "/S1/cloudservices/RG/resources/scheduler/jobCollections/C1";
/// The collection as the scheduler itself answers it.
const SCHEDULER: &str = "/S1/cloudservices/RG/resources/scheduler/~/jobCollections/C1";
const JOB: &str = r#"{"action":{"type":"http","request":{"uri":"http://example.org/","method":"GET","headers":{"Content-Type":"text/plain","x-ms-version":"1"}}}}"#;
const JOB_ANSWERED: &str = r#"{"id":"J1","action":{"request":{"uri":"http:\/\/example.org\/","method":"GET","headers":{"content-Type":"text\/plain","x-ms-version":"1"}},"type":"http"},"state":"enabled","status":{"nextExecutionTime":"2016-03-30T20:40:34Z","executionCount":0,"failureCount":0,"faultedCount":0}}"#;

fn send(api: &Api, method: &str, path: &str, body: &str) -> Answer {
    api.send(method, path, &[("x-ms-version", "2013-03-01")], body)
}

fn send_if(api: &Api, method: &str, path: &str, etag: &str, body: &str) -> Answer {
    api.send(method, path, &[("x-ms-version", "2013-03-01"), ("if-match", etag)], body)
}

/// The complete answer, in XML.
#[track_caller]
fn is_xml(answer: &Answer, body: &str) {
    assert_eq!((answer.status.as_u16(), answer.body.as_str()), (200, body));
    assert_eq!(answer.header("content-type"), Some("application/xml; charset=utf-8"));
}

/// An answer of the front end that has no body.
#[track_caller]
fn is_accepted(answer: &Answer) {
    assert_eq!((answer.status.as_u16(), answer.body.as_str()), (202, ""));
}

#[track_caller]
fn fails(answer: &Answer, status: u16, code: &str, message: &str) {
    let body =
        format!("<Error{NAMESPACES}><Code>{code}</Code><Message>{message}</Message></Error>");
    assert_eq!((answer.status.as_u16(), answer.body.as_str()), (status, body.as_str()));
    assert_eq!(answer.header("content-type"), Some("application/xml; charset=utf-8"));
}

fn etag(answer: &Answer) -> String {
    let etag = answer.header("etag").unwrap_or_default();
    assert_eq!((etag.len(), etag.split('-').count()), (36, 5), "{etag}");
    etag.to_owned()
}

fn cloud_service(label: &str, region: &str) -> String {
    format!(
        "<CloudService><Label>{label}</Label><Description>d</Description><GeoRegion>{region}</GeoRegion></CloudService>"
    )
}

fn collection(settings: &str) -> String {
    format!("<Resource><IntrinsicSettings>{settings}</IntrinsicSettings></Resource>")
}

/// An API with the cloud service `RG`, in West US.
fn with_service() -> Api {
    let api = Api::new();
    is_accepted(&send(&api, "PUT", SERVICE, &cloud_service("l", "westus")));
    api
}

/// The same with the collection `C1`, which has the job `J1`.
fn with_job() -> Api {
    let api = with_service();
    is_accepted(&send(&api, "PUT", COLLECTION, &collection("<plan>Standard</plan>")));
    send(&api, "PUT", &format!("{SCHEDULER}/jobs/J1"), JOB).is(201, JOB_ANSWERED);
    api
}

#[test]
fn a_cloud_service_is_created_listed_changed_and_deleted() {
    let api = Api::new();
    is_xml(&send(&api, "GET", "/S1/CloudServices", ""), &format!("<CloudServices{NAMESPACES}/>"));
    let created = send(&api, "PUT", SERVICE, &cloud_service("a &amp; b", "westus"));
    is_accepted(&created);
    let inner = "<Name>RG</Name><Label>a &amp; b</Label><Description>d</Description><GeoRegion>West US</GeoRegion><Resources/>";
    let alone = format!("<CloudService{NAMESPACES}>{inner}</CloudService>");
    let read = send(&api, "GET", "/s1/cloudServices/rg", "");
    is_xml(&read, &alone);
    assert_eq!(etag(&read), etag(&created));
    let listed =
        format!("<CloudServices{NAMESPACES}><CloudService>{inner}</CloudService></CloudServices>");
    is_xml(&send(&api, "GET", "/S1/cloudservices/", ""), &listed);

    // What is not sent is not kept, except for the region.
    let changed = send(&api, "PUT", "/S1/cloudservices/rg", "<cloudservice/>");
    is_accepted(&changed);
    assert_ne!(etag(&changed), etag(&created));
    let inner =
        "<Name>RG</Name><Label>rg</Label><Description/><GeoRegion>West US</GeoRegion><Resources/>";
    is_xml(
        &send(&api, "GET", SERVICE, ""),
        &format!("<CloudService{NAMESPACES}>{inner}</CloudService>"),
    );
    fails(
        &send(&api, "PUT", SERVICE, &cloud_service("l", "East US")),
        409,
        "ConflictError",
        "The cloud service is in 'West US' and cannot move to 'East US'. Omit 'GeoRegion', or create a \
         cloud service with another name.",
    );
    is_accepted(&send(&api, "DELETE", SERVICE, ""));
    let gone = "The cloud service with name RG was not found.";
    fails(&send(&api, "GET", SERVICE, ""), 404, "ResourceNotFound", gone);
    fails(&send(&api, "DELETE", SERVICE, ""), 404, "ResourceNotFound", gone);
}

#[test]
fn a_collection_is_answered_as_it_was_recorded() {
    let api = with_service();
    let created = send(&api, "PUT", COLLECTION, &collection("<Plan>standard</Plan>"));
    is_accepted(&created);
    let etag = etag(&created);
    let alone = |settings: &str, etag: &str| {
        format!(
            "<Resource{NAMESPACES}><CloudServiceSettings><GeoRegion>West US</GeoRegion></CloudServiceSettings><ETag>{etag}</ETag><IntrinsicSettings>{settings}</IntrinsicSettings><Name>C1</Name><OperationStatus><Error><HttpCode>200</HttpCode><Message>OK</Message></Error><Result>Succeeded</Result></OperationStatus><PromotionCode></PromotionCode><SchemaVersion>1.1</SchemaVersion><State>Started</State><SubState i:nil=\"true\"/><Type>jobcollections</Type></Resource>"
        )
    };
    let read = send(&api, "GET", SCHEDULER, "");
    is_xml(&read, &alone("<Plan>Standard</Plan>", &etag));
    assert_eq!((read.header("expires"), read.header("pragma")), (Some("-1"), Some("no-cache")));
    assert_eq!(read.header("etag"), None);

    let quota = "<Plan>Premium</Plan><Quota><MaxJobCount>7</MaxJobCount><MaxJobOccurrence>9</MaxJobOccurrence><MaxRecurrence><Frequency>Hour</Frequency><Interval>2</Interval></MaxRecurrence></Quota>";
    // As .NET sends it: more elements, white space, and a label in base64.
    let body = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\r\n<Resource xmlns=\"http://schemas.microsoft.com/windowsazure\">\r\n  <SchemaVersion>1.1</SchemaVersion><ETag/>\r\n  <IntrinsicSettings>{quota}</IntrinsicSettings>\r\n  <Label>YWJj</Label>\r\n</Resource>"
    );
    let changed = send_if(&api, "PUT", COLLECTION, &etag, &body);
    is_accepted(&changed);
    let etag = self::etag(&changed);
    is_xml(&send(&api, "GET", SCHEDULER, ""), &alone(quota, &etag));
    let service = send(&api, "GET", SERVICE, "");
    let listed = format!(
        "<Resources><Resource><ResourceProviderNamespace>scheduler</ResourceProviderNamespace><Type>JobCollections</Type><Name>C1</Name><SchemaVersion>1.1</SchemaVersion><ETag>{etag}</ETag><State>Started</State><IntrinsicSettings>{quota}</IntrinsicSettings><OperationStatus><Type>Create</Type><Result>Succeeded</Result></OperationStatus><Label>YWJj</Label></Resource></Resources>"
    );
    assert!(service.body.contains(&listed), "{}", service.body);
}

#[test]
fn a_collection_of_either_api_is_one_of_the_other() {
    let api = Api::new();
    let body = r#"{"location":"East US","tags":{"a":"b"},"properties":{"sku":{"name":"P20Premium"},"minutehand":{"timeZone":"Europe/Berlin"}}}"#;
    assert_eq!(api.put("/C1", body).status, 201);
    // The group is a cloud service, as it has a collection.
    let service = send(&api, "GET", SERVICE, "");
    let begin = format!(
        "<CloudService{NAMESPACES}><Name>RG</Name><Label>RG</Label><Description>Resource group based cloud service.</Description><GeoRegion>East US</GeoRegion><Resources><Resource>"
    );
    assert!(service.body.starts_with(&begin), "{}", service.body);
    assert!(service.body.ends_with("<Label/></Resource></Resources></CloudService>"));
    let listed = send(&api, "GET", "/S1/cloudservices", "");
    assert!(listed.body.contains("<Name>C1</Name>"), "{}", listed.body);
    assert_eq!(api.ask("POST", "/C1/disable", "").status, 200);
    let read = send(&api, "GET", SCHEDULER, "");
    assert!(read.body.contains("<Plan>Premium</Plan>"), "{}", read.body);
    assert!(read.body.contains("<State>Stopped</State>"), "{}", read.body);

    // A change of the classic API leaves what it does not know.
    let quota = "<Plan>Premium</Plan><Quota><MaxJobCount>7</MaxJobCount></Quota>";
    is_accepted(&send(&api, "PUT", COLLECTION, &collection(quota)));
    api.get("/C1").is(200, r#"{"id":"/subscriptions/S1/resourceGroups/RG/providers/Microsoft.Scheduler/jobCollections/C1","type":"Microsoft.Scheduler/jobCollections","name":"C1","location":"East US","tags":{"a":"b"},"properties":{"sku":{"name":"P20Premium"},"state":"Disabled","quota":{"maxJobCount":7},"minutehand":{"timeZone":"Europe/Berlin"}}}"#);
    is_accepted(&send(&api, "PUT", COLLECTION, "<Resource/>"));
    assert_eq!(api.get("/C1").json()["properties"]["sku"]["name"], "Standard");

    // A collection that the classic API creates is in the region of its cloud service.
    let other = "/S1/cloudservices/RG/resources/scheduler/jobCollections/C2";
    is_accepted(&send(&api, "PUT", other, &collection("<Plan>Premium</Plan>")));
    let made = api.get("/C2").json();
    assert_eq!(made["location"], "East US");
    assert_eq!(made["properties"]["sku"]["name"], "P10Premium");
    assert_eq!(api.ask("DELETE", "/C2", "").status, 200);
    let read =
        send(&api, "GET", "/S1/cloudservices/RG/resources/scheduler/~/jobCollections/C2", "");
    assert_eq!(read.status, 404);
}

#[test]
fn a_collection_needs_its_cloud_service_and_goes_with_it() {
    let api = Api::new();
    let missing = "The cloud service with name RG was not found.";
    fails(&send(&api, "PUT", COLLECTION, "<Resource/>"), 404, "ResourceNotFound", missing);
    let api = with_job();
    assert_eq!(api.put("/other", "{}").status, 201);
    is_accepted(&send(&api, "DELETE", SERVICE, ""));
    assert_eq!(api.get("").body, r#"{"value":[],"nextLink":null}"#);
    fails(&send(&api, "GET", SERVICE, ""), 404, "ResourceNotFound", missing);
    fails(
        &send(&api, "GET", SCHEDULER, ""),
        404,
        "ResourceNotFound",
        "The job collection C1 of the cloud service RG was not found.",
    );
    fails(
        &send(&api, "PUT", &format!("{SCHEDULER}/jobs/J1"), JOB),
        404,
        "ResourceNotFound",
        "The job collection C1 of the cloud service RG was not found. Create it first.",
    );
}

#[test]
fn a_change_may_expect_an_etag() {
    let api = with_job();
    let read = send(&api, "GET", SERVICE, "");
    let tags: Vec<&str> = read.body.split("<ETag>").skip(1).map(|it| &it[..36]).collect();
    let [current] = tags[..] else { panic!("{}", read.body) };
    let old = "00000000-0000-0000-0000-000000000000";
    for method in ["PUT", "DELETE"] {
        let refused = send_if(&api, method, COLLECTION, old, "<Resource/>");
        let message = format!(
            "The job collection 'C1' exists with the ETag {current}, which the request rules out. Read \
             it again, and repeat the change with its new ETag."
        );
        fails(&refused, 412, "PreconditionFailed", &message);
    }
    is_accepted(&send_if(&api, "PUT", COLLECTION, &format!("\"{current}\""), "<Resource/>"));
    assert_eq!(send_if(&api, "PUT", COLLECTION, current, "<Resource/>").status, 412);
    is_accepted(&send_if(&api, "PUT", COLLECTION, "*", "<Resource/>"));
    let new = "/S1/cloudservices/RG/resources/scheduler/jobCollections/new";
    fails(
        &send_if(&api, "PUT", new, "*", "<Resource/>"),
        412,
        "PreconditionFailed",
        "Job collection 'new' does not exist, and the request expects that it does.",
    );
    assert_eq!(send_if(&api, "PUT", SERVICE, old, "<CloudService/>").status, 412);
    assert_eq!(send_if(&api, "DELETE", SERVICE, old, "").status, 412);
    let service = etag(&send(&api, "GET", SERVICE, ""));
    is_accepted(&send_if(&api, "PUT", SERVICE, &service, "<CloudService/>"));
    is_accepted(&send_if(&api, "DELETE", COLLECTION, "*", ""));
    is_accepted(&send_if(&api, "DELETE", SERVICE, "*", ""));
}

#[test]
fn names_are_checked_in_their_cloud_service() {
    let api = with_job();
    let base = "/S1/cloudservices/RG/resources/scheduler/jobCollections";
    for (method, path, free) in [
        ("GET", "/?op=checknameavailability&resourceName=c1", "false"),
        ("POST", "/?op=CheckNameAvailability&resourceName=C1", "false"),
        ("POST", "?op=checknameavailability&resourceName=C2", "true"),
    ] {
        let answer = send(&api, method, &format!("{base}{path}"), "");
        is_xml(
            &answer,
            &format!(
                "<ResourceNameAvailabilityResponse{NAMESPACES}><IsAvailable>{free}</IsAvailable></ResourceNameAvailabilityResponse>"
            ),
        );
    }
    let missing = "The query parameter 'resourceName' is missing.";
    fails(
        &send(&api, "GET", &format!("{base}?op=checknameavailability"), ""),
        400,
        "MissingOrInvalidRequiredQueryParameter",
        missing,
    );
    let list = send(&api, "GET", base, "");
    assert!(list.body.contains("<Code>MissingOrInvalidRequiredQueryParameter</Code>"));
    assert!(list.body.contains("they are the resources of their cloud service"), "{}", list.body);
    let elsewhere = base.replace("RG", "nope");
    fails(
        &send(&api, "GET", &format!("{elsewhere}/?op=checknameavailability&resourceName=x"), ""),
        404,
        "ResourceNotFound",
        "The cloud service with name nope was not found.",
    );
}

#[test]
fn the_provider_is_registered_and_described() {
    let api = Api::new();
    for action in ["register", "register", "unregister"] {
        let path = format!("/S1/services?service=scheduler.JobCollections&action={action}");
        send(&api, "PUT", &path, "").is(200, "");
    }
    fails(
        &send(&api, "PUT", "/S1/services?service=hdinsight.containers&action=register", ""),
        400,
        "MissingOrInvalidRequiredQueryParameter",
        "The query parameter 'service' has to be 'scheduler.JobCollections'.",
    );
    let path = "/S1/resourceproviders/scheduler/Properties?resourceType=JobCollections";
    let answer = send(&api, "GET", path, "");
    // The length that was recorded in January 2016.
    assert_eq!((answer.status.as_u16(), answer.body.len()), (200, 1_668));
    let least = "<Key>PlanDetail:Free:Quota:MinRecurrence</Key><Value>01:00:00</Value>";
    assert!(answer.body.contains(least), "{}", answer.body);
}

#[test]
fn the_id_of_every_answer_is_an_operation_that_succeeded() {
    let api = with_job();
    for (method, path) in [("GET", SERVICE), ("DELETE", COLLECTION), ("GET", "/S1/services")] {
        let answer = send(&api, method, path, "");
        let id = answer.header("x-ms-request-id").unwrap();
        assert!(id.len() == 32 && !id.contains('-'), "{id}");
        assert_eq!(answer.header("cache-control"), Some("no-cache"));
        let (a, rest) = id.split_at(8);
        let dashed = [a, &rest[..4], &rest[4..8], &rest[8..12], &rest[12..]].join("-");
        let body = format!(
            "<Operation{NAMESPACES}><ID>{dashed}</ID><Status>Succeeded</Status><HttpStatusCode>200</HttpStatusCode></Operation>"
        );
        for asked in [id, &dashed, &dashed.to_ascii_uppercase()] {
            is_xml(&send(&api, "GET", &format!("/S1/operations/{asked}"), ""), &body);
        }
    }
    for unknown in ["1", &"g".repeat(32), &"0".repeat(36)] {
        let answer = send(&api, "GET", &format!("/S1/operations/{unknown}"), "");
        assert_eq!(answer.status.as_u16(), 404, "{unknown}");
    }
}

#[test]
fn a_job_lives_through_the_classic_api() {
    let api = with_job();
    let job = format!("{SCHEDULER}/jobs/J1?api-version=2014-04-01");
    send(&api, "GET", &job, "").is(200, JOB_ANSWERED);
    send(&api, "GET", &format!("{SCHEDULER}/jobs/"), "").is(200, &format!("[{JOB_ANSWERED}]"));
    // The other API answers the headers as they were sent.
    let headers = &api.get("/C1/jobs/J1").json()["properties"]["action"]["request"]["headers"];
    assert_eq!(headers["Content-Type"], "text/plain");

    // A client sends back what it read.
    assert_eq!(send(&api, "PUT", &job, JOB_ANSWERED).status, 200);
    let disabled = JOB_ANSWERED.replace("enabled", "disabled");
    let disabled = format!("{}}}", disabled.split(r#","status""#).next().unwrap());
    let change = r#"{"state":"disabled","stateDetails":"at night"}"#;
    send(&api, "PATCH", &job, change).is(200, &disabled);
    let listed = |state: &str| {
        let path = format!("{SCHEDULER}/jobs?$filter=state%20eq%20{state}&$skip=0&$top=100");
        send(&api, "GET", &path, "")
    };
    listed("Disabled").is(200, &format!("[{disabled}]"));
    listed("enabled").is(200, "[]");
    for (body, message) in [
        (r#"{"status":{}}"#, "'status' cannot change; only the scheduler sets it."),
        (r#"{"id":"other"}"#, "'id' is 'other', and the path names the job 'J1'."),
        (
            r#"{"properties":{"state":"enabled"}}"#,
            "'properties' is not a property of a job in this version of the API: 'action', \
             'recurrence' and the others are at the top.",
        ),
        (
            r#"{"state":"completed"}"#,
            "'state' cannot be 'completed'; only the scheduler sets it; use one of enabled, disabled.",
        ),
    ] {
        let answer = send(&api, "PATCH", &job, body);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains("<Code>BadRequest</Code>"), "{}", answer.body);
        assert!(body.contains("completed") || answer.body.contains(message), "{}", answer.body);
    }
    send(&api, "DELETE", &job, "").is(200, "");
    let gone = "Job &apos;J1&apos; cannot be found.".replace("&apos;", "'");
    fails(&send(&api, "DELETE", &job, ""), 404, "ResourceNotFound", &gone);
    fails(&send(&api, "GET", &job, ""), 404, "ResourceNotFound", &gone);
}

#[test]
fn a_job_may_get_its_id_from_the_service() {
    let api = with_job();
    let made = send(&api, "POST", &format!("{SCHEDULER}/jobs?api-version=2014-04-01"), JOB);
    assert_eq!(made.status, 201);
    let id = made.json()["id"].as_str().unwrap().to_owned();
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    send(&api, "GET", &format!("{SCHEDULER}/jobs/{id}"), "").is(200, &made.body);
    let named = r#"{"id":"mine","action":{}}"#;
    fails(
        &send(&api, "POST", &format!("{SCHEDULER}/jobs"), named),
        400,
        "BadRequest",
        "'id' cannot be sent here; a PUT of a job chooses its id.",
    );
}

#[test]
fn extensions_of_a_job_are_at_its_top_and_stay_when_they_are_not_sent() {
    let api = with_job();
    let job = format!("{SCHEDULER}/jobs/J1");
    let with = |value: &str| JOB.replacen('{', &format!(r#"{{"minutehand":{value},"#), 1);
    for (body, is_there) in [(with("{}"), true), (JOB.to_owned(), true), (with("null"), false)] {
        let answer = send(&api, "PUT", &job, &body);
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert_eq!(answer.json().get("minutehand").is_some(), is_there, "{body}");
    }
}

#[test]
fn all_jobs_of_a_collection_change_at_once() {
    let api = with_job();
    send(&api, "PUT", &format!("{SCHEDULER}/jobs/J2"), JOB);
    // Clients send this with `~`, and a document has it without.
    for (path, state) in [(SCHEDULER, "disabled"), (COLLECTION, "enabled")] {
        let body = format!(r#"{{"state":"{state}"}}"#);
        let changed = send(&api, "PATCH", &format!("{path}/jobs"), &body);
        assert_eq!(changed.status, 200, "{}", changed.body);
        let states = [0, 1].map(|n| changed.json()[n]["state"].clone());
        assert_eq!(states, [state, state]);
        send(&api, "GET", &format!("{SCHEDULER}/jobs"), "").is(200, &changed.body);
        assert_eq!(api.get("/C1").json()["properties"]["state"], "Enabled");
    }
    for (body, part) in [
        (r#"{"state":"enabled","a":1}"#, "sets their 'state' and nothing else"),
        (r#"{"action":{}}"#, "sets their 'state' and nothing else"),
        ("{}", "sets their 'state' and nothing else"),
        (r#"{"state":"completed"}"#, "'state' cannot be 'completed' here; use one of enabled"),
        (r#"{"state":7}"#, "'state' cannot be '' here; use one of enabled"),
    ] {
        let refused = send(&api, "PATCH", &format!("{SCHEDULER}/jobs"), body);
        assert_eq!(refused.status, 400, "{body}");
        assert!(refused.body.contains(part), "{body}: {}", refused.body);
    }
    // A job that has ended stays as it is.
    api.finish(minutehand_domain::job::JobState::Completed);
    let changed = send(&api, "PATCH", &format!("{SCHEDULER}/jobs"), r#"{"state":"disabled"}"#);
    assert_eq!(changed.json()[0]["state"], "completed", "{}", changed.body);
    assert_eq!(changed.json()[1]["state"], "disabled");
    send(&api, "DELETE", &format!("{SCHEDULER}/jobs?api-version=2014-04-01"), "").is(200, "");
    send(&api, "GET", &format!("{SCHEDULER}/jobs"), "").is(200, "[]");
    // Without any job, a state is checked, too.
    let wrong = send(&api, "PATCH", &format!("{SCHEDULER}/jobs"), r#"{"state":"sleeping"}"#);
    assert_eq!(wrong.status, 400);
}

#[test]
fn malformed_requests_are_refused_and_change_nothing() {
    let api = with_job();
    let before = send(&api, "GET", SERVICE, "").body;
    let deep = format!("{}{}", "<Resource>".repeat(20), "</Resource>".repeat(20));
    let wide = format!("<Resource>{}</Resource>", "<Plan/>".repeat(300));
    let laughs = "<!DOCTYPE r [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><Resource>&b;</Resource>";
    for (path, body, code, part) in [
        (COLLECTION, deep.as_str(), "InvalidXmlRequest", "more than 16 elements within each other"),
        (COLLECTION, &wide, "InvalidXmlRequest", "more than 256 elements"),
        (COLLECTION, laughs, "InvalidXmlRequest", "document type"),
        (COLLECTION, "<Resource>&a;</Resource>", "InvalidXmlRequest", "entity 'a' is unknown"),
        (COLLECTION, "", "InvalidXmlRequest", "It is empty"),
        (COLLECTION, "{}", "InvalidXmlRequest", "text outside"),
        (COLLECTION, "<Resource>", "InvalidXmlRequest", "has no end"),
        (COLLECTION, "<CloudService/>", "InvalidXmlRequest", "has to be 'Resource'"),
        (
            COLLECTION,
            "<Resource><Plan/></Resource>",
            "InvalidXmlRequest",
            "unknown element, 'Plan'",
        ),
        (SERVICE, "<Resource/>", "InvalidXmlRequest", "has to be 'CloudService'"),
        (SERVICE, "<CloudService><Label>a & b</Label></CloudService>", "InvalidXmlRequest", ""),
        (
            SERVICE,
            "<!DOCTYPE x [<!ENTITY a 'b'>]><CloudService/>",
            "InvalidXmlRequest",
            "document type",
        ),
    ] {
        let answer = send(&api, "PUT", path, body);
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        assert!(answer.body.contains(&format!("<Code>{code}</Code>")), "{body}: {}", answer.body);
        assert!(answer.body.contains(part), "{body}: {}", answer.body);
    }
    for (settings, part) in [
        ("<Plan>Gold</Plan>", "'Plan' cannot be 'Gold'; use one of Free, Standard, Premium."),
        ("<Plan>P20Premium</Plan>", "'Plan' cannot be"),
        ("<Quota><MaxJobCount>x</MaxJobCount></Quota>", "'MaxJobCount' cannot be 'x'"),
        ("<Quota><MaxJobCount>0</MaxJobCount></Quota>", "maxJobCount"),
        (
            "<Quota><MaxRecurrence><Frequency>Second</Frequency></MaxRecurrence></Quota>",
            "frequency",
        ),
    ] {
        let answer = send(&api, "PUT", COLLECTION, &collection(settings));
        assert_eq!(answer.status, 400, "{settings}: {}", answer.body);
        assert!(answer.body.contains("<Code>BadRequest</Code>"), "{}", answer.body);
        assert!(answer.body.contains(part), "{settings}: {}", answer.body);
    }
    let long = cloud_service(&"x".repeat(101), "West US");
    assert!(send(&api, "PUT", SERVICE, &long).body.contains("'Label' has 101 characters"));
    let large = format!("<CloudService><Label>{}</Label></CloudService>", "x".repeat(70_000));
    assert_eq!(send(&api, "PUT", SERVICE, &large).status, 413);
    // A quota above its plan.
    let quota = "<Plan>Standard</Plan><Quota><MaxJobCount>51</MaxJobCount></Quota>";
    let answer = send(&api, "PUT", COLLECTION, &collection(quota));
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("<Code>ConflictError</Code>"), "{}", answer.body);
    assert_eq!(send(&api, "GET", SERVICE, "").body, before);
}

#[test]
fn the_wrong_side_of_the_tilde_is_named() {
    let api = with_job();
    let jobs = format!("{COLLECTION}/jobs/J1");
    for (method, path, status, part) in [
        (
            "GET",
            COLLECTION,
            400,
            "use PUT, DELETE. The scheduler itself does this, on the path with",
        ),
        ("PUT", SCHEDULER, 400, "use GET. The front end does this, on the path without '~'."),
        ("GET", &jobs, 404, "The scheduler itself does this, on the path with '/~/'"),
        ("POST", SERVICE, 400, "This path does not support POST; use PUT, GET, DELETE."),
        ("GET", "/S1/cloudservices/RG/x", 404, "The specified resource does not exist."),
        ("GET", "/S1/services", 400, "This path does not support GET; use PUT."),
    ] {
        let answer = send(&api, method, path, "");
        assert_eq!(answer.status.as_u16(), status, "{}", answer.body);
        let code = if status == 404 { "ResourceNotFound" } else { "InvalidHttpVerb" };
        assert!(answer.body.contains(&format!("<Code>{code}</Code>")), "{}", answer.body);
        let part = part.replace("'/~/'", "'/~' behind 'scheduler'");
        assert!(answer.body.contains(&part), "{path}: {}", answer.body);
    }
    // The paths of the other API are not of this one.
    let other = format!("/subscriptions/services/resourceGroups/g?{VERSION}");
    api.send("HEAD", &other, &[], "").is(204, "");
}

#[test]
fn the_versions_are_checked() {
    let api = with_job();
    for version in ["", "2012-02-29", "2013-3-1", "yesterday..", "2013-03-01x"] {
        let answer = api.send("GET", SERVICE, &[("x-ms-version", version)], "");
        assert_eq!(answer.status, 400, "{version}");
        let code = "<Code>MissingOrIncorrectVersionHeader</Code><Message>The versioning header is not specified or was specified incorrectly.";
        assert!(answer.body.contains(code), "{version}: {}", answer.body);
    }
    assert_eq!(api.send("GET", SERVICE, &[], "").status, 400);
    for (path, status) in [
        (format!("{SCHEDULER}?api-version=2014-04-01"), 200),
        (format!("{SCHEDULER}?api-version=2016-03-01"), 400),
        (format!("{SERVICE}?api-version=2016-03-01"), 200),
    ] {
        assert_eq!(send(&api, "GET", &path, "").status.as_u16(), status, "{path}");
    }
}

#[test]
fn callers_are_known_by_their_tokens() {
    let api = Api::with(Access::Tokens(vec![Token::with_all_rights(TOKEN)]));
    let unknown = "The server failed to authenticate the request. Verify that the certificate is valid \
                   and is associated with this subscription.";
    for (path, token) in [(SERVICE, "Bearer other"), ("/S1/cloudservices/a/b/c", "Basic eA==")] {
        let headers = [("x-ms-version", "2013-03-01"), ("authorization", token)];
        let answer = api.send("GET", path, &headers, "");
        assert_eq!(answer.status, 403);
        let expected = format!("<Code>AuthenticationFailed</Code><Message>{unknown} The");
        assert!(answer.body.contains(&expected), "{}", answer.body);
    }
    assert_eq!(send(&api, "GET", SERVICE, "").status, 403);
    let headers = [("x-ms-version", "2013-03-01"), ("authorization", "Bearer token")];
    assert_eq!(api.send("GET", SERVICE, &headers, "").status, 404);

    let reader = Api::with(Access::Tokens(vec![Token {
        scope: Scope::Read,
        ..Token::with_all_rights(TOKEN)
    }]));
    assert_eq!(reader.send("GET", SERVICE, &headers, "").status, 404);
    let check = "/S1/cloudservices/x/resources/scheduler/jobCollections?op=checknameavailability&resourceName=x";
    assert_eq!(reader.send("POST", check, &headers, "").status, 404);
    let answer = reader.send("PUT", SERVICE, &headers, "<CloudService/>");
    fails(
        &answer,
        403,
        "ForbiddenError",
        "The token has the scope 'read'; this request needs a token with 'all'.",
    );
}

#[test]
fn internal_failures_reveal_nothing_and_are_xml() {
    let api = with_job();
    api.troubles.set(Trouble::Unavailable);
    let busy = send(&api, "GET", SCHEDULER, "");
    fails(&busy, 503, "ServerBusy", "The service is temporarily unavailable. Try again.");
    assert_eq!(busy.header("retry-after"), Some("5"));
    for trouble in [Trouble::Corrupt, Trouble::Panic] {
        api.troubles.set(trouble);
        let message =
            "The service failed. Its log gives the reason under the id in 'x-ms-request-id'.";
        fails(&send(&api, "GET", SCHEDULER, ""), 500, "InternalError", message);
    }
    api.troubles.set(Trouble::Stale);
    let message = "Job collection 'C1' is being modified concurrently. Try again.";
    fails(&send(&api, "PUT", COLLECTION, "<Resource/>"), 409, "ConflictError", message);
}

#[test]
fn counters_are_shown() {
    let api = with_job();
    api.count(CountersAdd { executions: 1, ..CountersAdd::default() });
    let job = send(&api, "GET", &format!("{SCHEDULER}/jobs/J1"), "").json();
    assert_eq!(job["status"]["executionCount"], 1);
    assert_eq!(api.send("GET", &format!("{GROUP}/C1/jobs/J1?{VERSION}"), &[], "").status, 200);
}
