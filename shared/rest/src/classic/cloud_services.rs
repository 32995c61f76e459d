//! The operations on cloud services.

use axum::http::StatusCode;
use minutehand_app::{CloudServiceSettings, CloudServiceView, Etag};

use super::collections;
use super::failure::Fault;
use super::request::{Request, shown_etag};
use super::xml::Xml;
use crate::answer::Answer;

/// The most characters of a label. Azure's clients refuse longer ones.
const LABEL_CHARS_MAX: usize = 100;
/// The most characters of a description.
const DESCRIPTION_CHARS_MAX: usize = 1_024;
/// The most characters of the name of a region.
const REGION_CHARS_MAX: usize = 100;

pub(super) async fn list(request: Request) -> Result<Answer, Fault> {
    let subscription = request.path.subscription()?;
    let services = request.manage.list_cloud_services(&subscription).await?;
    let body = Xml::document("CloudServices", |xml| {
        for service in &services {
            xml.element("CloudService", |xml| write(xml, service));
        }
    });
    Ok(Answer::xml(StatusCode::OK, body))
}

pub(super) async fn get(request: Request) -> Result<Answer, Fault> {
    let service = request.manage.get_cloud_service(&request.path.place()?).await?;
    let body = Xml::document("CloudService", |xml| write(xml, &service));
    Ok(Answer::xml(StatusCode::OK, body).with_tag(&shown_etag(&service.etag)))
}

/// Creates a cloud service, or replaces what is said of it.
pub(super) async fn put(request: Request) -> Result<Answer, Fault> {
    let place = request.path.place()?;
    let sent = request.xml("CloudService")?;
    sent.has_only(&["Name", "Label", "Description", "GeoRegion", "Email", "Resources"])?;
    let text = |name: &str, chars_max: usize| -> Result<Option<String>, Fault> {
        let text = sent.text(name)?.map(str::trim).filter(|text| !text.is_empty());
        match text.map(|text| text.chars().count()) {
            Some(chars) if chars > chars_max => Err(Fault::invalid(format!(
                "'{name}' has {chars} characters; at most {chars_max} are allowed."
            ))),
            Some(_) | None => Ok(text.map(str::to_owned)),
        }
    };
    let settings = CloudServiceSettings {
        label: text("Label", LABEL_CHARS_MAX)?,
        description: text("Description", DESCRIPTION_CHARS_MAX)?,
        region: text("GeoRegion", REGION_CHARS_MAX)?,
    };
    let current = current(&request).await?;
    let etag = request.changing(current.as_ref()).put_cloud_service(&place, settings).await?;
    Ok(Answer::empty(StatusCode::ACCEPTED).with_tag(&shown_etag(&etag)))
}

/// Deletes a cloud service with its collections and their jobs.
pub(super) async fn delete(request: Request) -> Result<Answer, Fault> {
    let place = request.path.place()?;
    let current = current(&request).await?;
    request.changing(current.as_ref()).delete_cloud_service(&place).await?;
    Ok(Answer::empty(StatusCode::ACCEPTED))
}

/// The version of the cloud service, if the request has a condition and the service exists.
async fn current(request: &Request) -> Result<Option<Etag>, Fault> {
    if !request.is_conditional() {
        return Ok(None);
    }
    Ok(request.manage.cloud_service_etag(&request.path.place()?).await?)
}

fn write(xml: &mut Xml, service: &CloudServiceView) {
    xml.text("Name", service.name.as_str());
    xml.text("Label", &service.label);
    xml.text("Description", &service.description);
    xml.text("GeoRegion", &service.region);
    xml.element("Resources", |xml| {
        for resource in &service.resources {
            xml.element("Resource", |xml| collections::write_listed(xml, resource));
        }
    });
}
