//! Requests of another client, passed on with the token of this one.

use bytes::Bytes;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH,
    RETRY_AFTER,
};

use crate::error::Error;
use crate::transport::Client;

/// What is passed on of a request's head; above all not what let it in here.
const ASKED: [HeaderName; 4] = [ACCEPT, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH];
/// What is passed on of an answer's head.
const ANSWERED: [HeaderName; 5] =
    [CACHE_CONTROL, CONTENT_TYPE, ETAG, RETRY_AFTER, HeaderName::from_static("x-ms-request-id")];

impl Client {
    /// Passes a request on, once, with the token of this client instead of any other. Whatever the
    /// server answers is an answer, a refusal as well.
    ///
    /// # Errors
    ///
    /// If the server does not answer, or with more than fits into memory.
    pub async fn forward(
        &self,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, Error> {
        let (head, body) = request.into_parts();
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = http::Request::new(body);
        *request.method_mut() = head.method;
        let uri = self.server().join(path).parse();
        *request.uri_mut() = uri.map_err(|error| Error::Setup(format!("{path}: {error}")))?;
        copy(&ASKED, &head.headers, request.headers_mut());
        let (head, body) = self.exchange(request).await?.into_parts();
        let mut answer = http::Response::new(body);
        *answer.status_mut() = head.status;
        copy(&ANSWERED, &head.headers, answer.headers_mut());
        Ok(answer)
    }
}

fn copy(names: &[HeaderName], from: &HeaderMap, to: &mut HeaderMap) {
    for name in names {
        if let Some(value) = from.get(name) {
            to.insert(name.clone(), value.clone());
        }
    }
}
