//! Problem details in JSON (RFC 9457), of the types of draft-ietf-httpapi-ratelimit-headers-10.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde::Serialize;

use crate::denied::Denied;

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Problem<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    /// The names of the limits that refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    violated_policies: Option<Vec<&'a str>>,
    /// When to come again, in milliseconds, rounded up.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

pub(super) fn answer(denied: &Denied<'_>) -> Response<Bytes> {
    let status = denied.status();
    let problem = Problem {
        r#type: match status {
            StatusCode::TOO_MANY_REQUESTS => {
                "https://iana.org/assignments/http-problem-types#quota-exceeded"
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
            }
            // Nothing more than the status says.
            _ => "about:blank",
        },
        title: status.canonical_reason().unwrap_or("Denied"),
        status: status.as_u16(),
        detail: denied.detail(),
        violated_policies: denied.decision().map(|_| denied.violated().collect()),
        retry_after_ms: denied
            .retry_after()
            .map(|wait| u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)),
    };
    // Text and numbers are always JSON.
    let body = serde_json::to_vec(&problem).unwrap_or_default();
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
