//! Problem details in JSON (RFC 9457), of the types of draft-ietf-httpapi-ratelimit-headers-10.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use serde_json::{Map, Value};

use crate::denied::Denied;

const TYPES: &str = "https://iana.org/assignments/http-problem-types";

/// `application/problem+json` with the violated limits and, in milliseconds, rounded up, when to come again.
pub(super) fn answer(denied: &Denied<'_>) -> Response<Bytes> {
    let status = denied.status();
    let mut members = Map::new();
    let kind = match status {
        StatusCode::TOO_MANY_REQUESTS => format!("{TYPES}#quota-exceeded"),
        StatusCode::SERVICE_UNAVAILABLE => format!("{TYPES}#temporary-reduced-capacity"),
        // Nothing more than the status says.
        _ => "about:blank".into(),
    };
    members.insert("type".into(), kind.into());
    members.insert("title".into(), status.canonical_reason().unwrap_or("Denied").into());
    members.insert("status".into(), status.as_u16().into());
    members.insert("detail".into(), denied.detail().into());
    if denied.decision().is_some() {
        let violated: Vec<&str> = denied.violated().collect();
        members.insert("violated-policies".into(), violated.into());
    }
    if let Some(wait) = denied.retry_after() {
        let millis = wait.as_nanos().div_ceil(1_000_000);
        members.insert("retry-after-ms".into(), u64::try_from(millis).unwrap_or(u64::MAX).into());
    }
    let mut response = Response::new(Value::Object(members).to_string().into());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}
