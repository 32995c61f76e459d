//! Requests of another client, passed on with the token of this one.

use http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, IF_MATCH,
    IF_NONE_MATCH, RETRY_AFTER,
};
use http_body_util::{BodyExt as _, Collected, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use tokio::time::timeout;

use crate::error::{Error, causes};
use crate::transport::{ANSWER_BYTES_MAX, Client};

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
        let mut request = http::Request::new(Full::new(body));
        *request.method_mut() = head.method;
        let uri = self.server().join(path).parse();
        *request.uri_mut() = uri.map_err(|error| Error::Setup(format!("{path}: {error}")))?;
        copy(&ASKED, &head.headers, request.headers_mut());
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        let (server, after) = (self.server().to_string(), self.limits.answer);
        let answered = timeout(after, self.exchange_once(request)).await;
        answered.map_err(|_| Error::TimedOut { server, after })?
    }

    async fn exchange_once(
        &self,
        request: http::Request<Full<Bytes>>,
    ) -> Result<http::Response<Bytes>, Error> {
        let server = self.server().to_string();
        let answer = match self.http.request(request).await {
            Ok(answer) => answer,
            Err(error) if error.is_connect() => {
                return Err(Error::NotReached { server, why: causes(&error) });
            }
            Err(error) => return Err(Error::Broken { server, why: causes(&error) }),
        };
        let (head, body) = answer.into_parts();
        let body = match Limited::new(body, ANSWER_BYTES_MAX).collect().await {
            Ok(body) => Collected::to_bytes(body),
            Err(error) if error.is::<LengthLimitError>() => {
                let why = format!("the answer is longer than {ANSWER_BYTES_MAX} bytes");
                return Err(self.not_understood(why));
            }
            Err(error) => return Err(Error::Broken { server, why: causes(error.as_ref()) }),
        };
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
