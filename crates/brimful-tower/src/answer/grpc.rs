//! A status of gRPC, with details of google.rpc (RetryInfo, QuotaFailure).

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, QuotaViolation, StatusExt};

use crate::denied::{Denied, is_servers_fault};
use crate::head::Head;

/// Whether the client speaks gRPC.
pub(super) fn is_asked_for(head: Head<'_>) -> bool {
    let kind = kind(head).and_then(after_grpc);
    kind.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b' ' | b'-')))
}

fn is_web(kind: &HeaderValue) -> bool {
    after_grpc(kind).is_some_and(|rest| rest.first() == Some(&b'-'))
}

/// What follows `application/grpc` in a kind that begins so.
fn after_grpc(kind: &HeaderValue) -> Option<&[u8]> {
    const GRPC: &[u8] = b"application/grpc";
    let (begin, rest) = kind.as_bytes().split_at_checked(GRPC.len())?;
    begin.eq_ignore_ascii_case(GRPC).then_some(rest)
}

/// The status stands in the headers, and there is no body.
pub(super) fn answer(denied: &Denied<'_>) -> Response<Bytes> {
    let mut details = ErrorDetails::new();
    let code = match (denied.decision(), denied.missing()) {
        (Some(decision), _) if is_servers_fault(decision) => Code::Unavailable,
        (Some(_), _) => Code::ResourceExhausted,
        (None, Some(missing)) if missing.is_servers_fault() => Code::Internal,
        (None, _) => Code::InvalidArgument,
    };
    if let Some(wait) = denied.retry_after() {
        // Exact. (A longer time than the message can say is none that a client waits.)
        details.set_retry_info(Some(wait));
    }
    let violated: Vec<QuotaViolation> =
        denied.violated().map(|name| QuotaViolation::new(name, "its quota is spent")).collect();
    if !violated.is_empty() {
        details.set_quota_failure(violated);
    }
    let status = Status::with_error_details(code, denied.detail(), details);
    let mut response: Response<Bytes> = status.into_http();
    // Clients of gRPC-Web want their own kind.
    if let Some(kind) = kind(denied.head).filter(|kind| is_web(kind)) {
        response.headers_mut().insert(CONTENT_TYPE, kind.clone());
    }
    response
}

fn kind(head: Head<'_>) -> Option<&HeaderValue> {
    head.headers().get(CONTENT_TYPE)
}
