//! The operations on job collections, which are resources of cloud services.

use axum::http::StatusCode;
use minutehand_app::{ResourceSettings, ResourceView};
use minutehand_domain::collection::CollectionState;
use minutehand_domain::name::Name;
use minutehand_domain::plan::{MaxRecurrence, Plan, Quota};
use serde_json::{Map, Value, json};

use super::failure::Fault;
use super::request::{Request, shown_etag};
use super::xml::{Element, Xml};
use crate::answer::Answer;
use crate::failure::capitalized;
use crate::query::shown;

/// The plans of this API. Azure's later API has two plans for the last one.
const PLANS: [(&str, Plan); 3] =
    [("Free", Plan::Free), ("Standard", Plan::Standard), ("Premium", Plan::P10Premium)];
/// The elements of a collection that a client sends, or sends back as it read them.
const ELEMENTS: [&str; 14] = [
    "SchemaVersion",
    "ETag",
    "IntrinsicSettings",
    "Label",
    "CloudServiceSettings",
    "Name",
    "OperationStatus",
    "PromotionCode",
    "State",
    "SubState",
    "Type",
    "ResourceProviderNamespace",
    "UsageMeters",
    "OutputItems",
];
/// The most characters of a label: those of the text in base64, and its encoding.
const LABEL_CHARS_MAX: usize = 1_024;

/// Says whether a name is free.
pub(super) async fn check_name(request: Request) -> Result<Answer, Fault> {
    let place = request.path.place()?;
    let operation = request.query.get("op").unwrap_or_default();
    if !operation.eq_ignore_ascii_case("checknameavailability") {
        return Err(Fault::query(
            "The query parameter 'op' has to be 'checknameavailability'. There is no list of job \
             collections: they are the resources of their cloud service.",
        ));
    }
    let name = request.query.get("resourceName");
    let name =
        name.ok_or_else(|| Fault::query("The query parameter 'resourceName' is missing."))?;
    let is_free = request.manage.is_name_free(&place, &Name::new(name)?).await?;
    let body = Xml::document("ResourceNameAvailabilityResponse", |xml| {
        xml.text("IsAvailable", if is_free { "true" } else { "false" });
    });
    Ok(Answer::xml(StatusCode::OK, body))
}

/// Creates a collection, or replaces its plan, quota and label.
pub(super) async fn put(request: Request) -> Result<Answer, Fault> {
    let (place, name) = (request.path.place()?, request.path.collection()?);
    let settings = read(&request.xml("Resource")?)?;
    let current = current(&request).await?;
    let manage = request.changing(current.as_ref().map(|resource| &resource.etag));
    let resource = manage.put_resource(&place, &name, settings).await?;
    Ok(Answer::empty(StatusCode::ACCEPTED).with_tag(&shown_etag(&resource.etag)))
}

pub(super) async fn delete(request: Request) -> Result<Answer, Fault> {
    let (place, name) = (request.path.place()?, request.path.collection()?);
    let current = current(&request).await?;
    let manage = request.changing(current.as_ref().map(|resource| &resource.etag));
    manage.delete_collection(&place, &name).await?;
    Ok(Answer::empty(StatusCode::ACCEPTED))
}

pub(super) async fn get(request: Request) -> Result<Answer, Fault> {
    let (place, name) = (request.path.place()?, request.path.collection()?);
    let resource = request.manage.get_resource(&place, &name).await?;
    let body = Xml::document("Resource", |xml| write(xml, &resource));
    Ok(Answer::xml(StatusCode::OK, body))
}

/// The collection as it is now, if the request has a condition and the collection exists.
async fn current(request: &Request) -> Result<Option<ResourceView>, Fault> {
    if !request.is_conditional() {
        return Ok(None);
    }
    let (place, name) = (request.path.place()?, request.path.collection()?);
    Ok(request.manage.find_resource(&place, &name).await?)
}

fn read(sent: &Element) -> Result<ResourceSettings, Fault> {
    sent.has_only(&ELEMENTS)?;
    let label = sent.text("Label")?.filter(|label| !label.is_empty());
    if label.is_some_and(|label| label.chars().count() > LABEL_CHARS_MAX) {
        return Err(Fault::invalid(format!(
            "'Label' is too long; at most {LABEL_CHARS_MAX} characters are allowed."
        )));
    }
    let label = label.map(str::to_owned);
    let Some(settings) = sent.child("IntrinsicSettings") else {
        return Ok(ResourceSettings { label, ..ResourceSettings::default() });
    };
    settings.has_only(&["Plan", "Quota"])?;
    let plan = settings.text("Plan")?.map(read_plan).transpose()?.unwrap_or_default();
    let quota = settings.child("Quota").map(read_quota).transpose()?;
    Ok(ResourceSettings { plan, quota, label })
}

fn read_plan(sent: &str) -> Result<Plan, Fault> {
    let found = PLANS.iter().find(|(name, _)| name.eq_ignore_ascii_case(sent.trim()));
    found.map(|(_, plan)| *plan).ok_or_else(|| {
        let names = PLANS.map(|(name, _)| name).join(", ");
        Fault::invalid(format!("'Plan' cannot be {}; use one of {names}.", shown(sent)))
    })
}

/// Reads a quota into the form that the services read.
fn read_quota(quota: &Element) -> Result<Value, Fault> {
    quota.has_only(&["MaxJobCount", "MaxJobOccurrence", "MaxRecurrence"])?;
    let mut document = Map::new();
    put_number(&mut document, quota, ("MaxJobCount", "maxJobCount"))?;
    put_number(&mut document, quota, ("MaxJobOccurrence", "maxJobOccurrence"))?;
    if let Some(max) = quota.child("MaxRecurrence") {
        max.has_only(&["Frequency", "Interval"])?;
        let mut recurrence = Map::new();
        if let Some(frequency) = max.text("Frequency")? {
            recurrence.insert("frequency".to_owned(), frequency.trim().into());
        }
        put_number(&mut recurrence, max, ("Interval", "interval"))?;
        document.insert("maxRecurrence".to_owned(), recurrence.into());
    }
    Ok(document.into())
}

/// Reads the number in an element, and puts it into an object under another name.
fn put_number(
    document: &mut Map<String, Value>,
    within: &Element,
    (element, name): (&str, &str),
) -> Result<(), Fault> {
    let Some(sent) = within.text(element)? else {
        return Ok(());
    };
    let number: u32 = sent.trim().parse().map_err(|_| {
        Fault::invalid(format!("'{element}' cannot be {}; use a whole number.", shown(sent)))
    })?;
    document.insert(name.to_owned(), json!(number));
    Ok(())
}

/// A collection as it is answered alone: its elements have the order of their names.
fn write(xml: &mut Xml, resource: &ResourceView) {
    xml.element("CloudServiceSettings", |xml| {
        xml.text("GeoRegion", resource.definition.location.as_deref().unwrap_or_default());
    });
    xml.text("ETag", &shown_etag(&resource.etag));
    write_settings(xml, resource);
    xml.text("Name", resource.name.as_str());
    xml.element("OperationStatus", |xml| {
        xml.element("Error", |xml| {
            xml.text("HttpCode", "200");
            xml.text("Message", "OK");
        });
        xml.text("Result", "Succeeded");
    });
    // As Azure wrote it. The label is left out: clients decode it as base64 here, and fail on others.
    xml.raw("<PromotionCode></PromotionCode>");
    xml.text("SchemaVersion", "1.1");
    xml.text("State", state(resource));
    xml.raw(r#"<SubState i:nil="true"/>"#);
    xml.text("Type", "jobcollections");
}

/// A collection as it is answered among the resources of its cloud service.
pub(super) fn write_listed(xml: &mut Xml, resource: &ResourceView) {
    xml.text("ResourceProviderNamespace", "scheduler");
    // PowerShell looks for these capitals.
    xml.text("Type", "JobCollections");
    xml.text("Name", resource.name.as_str());
    xml.text("SchemaVersion", "1.1");
    xml.text("ETag", &shown_etag(&resource.etag));
    xml.text("State", state(resource));
    write_settings(xml, resource);
    xml.element("OperationStatus", |xml| {
        xml.text("Type", "Create");
        xml.text("Result", "Succeeded");
    });
    xml.text("Label", resource.label.as_deref().unwrap_or_default());
}

fn write_settings(xml: &mut Xml, resource: &ResourceView) {
    xml.element("IntrinsicSettings", |xml| {
        xml.text("Plan", plan_name(resource.definition.plan));
        if let Some(quota) = &resource.definition.quota {
            xml.element("Quota", |xml| write_quota(xml, quota));
        }
    });
}

fn write_quota(xml: &mut Xml, quota: &Quota) {
    let numbers =
        [("MaxJobCount", quota.max_job_count), ("MaxJobOccurrence", quota.max_job_occurrence)];
    for (name, number) in numbers {
        if let Some(number) = number {
            xml.text(name, &number.to_string());
        }
    }
    if let Some(MaxRecurrence { frequency, interval }) = quota.max_recurrence {
        xml.element("MaxRecurrence", |xml| {
            xml.text("Frequency", &capitalized(frequency.name()));
            xml.text("Interval", &interval.to_string());
        });
    }
}

const fn plan_name(plan: Plan) -> &'static str {
    match plan {
        Plan::Free => "Free",
        Plan::Standard => "Standard",
        Plan::P10Premium | Plan::P20Premium => "Premium",
    }
}

const fn state(resource: &ResourceView) -> &'static str {
    match resource.definition.state {
        CollectionState::Enabled => "Started",
        CollectionState::Disabled => "Stopped",
        CollectionState::Suspended => "Paused",
    }
}
