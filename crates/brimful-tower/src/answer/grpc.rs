//! A status of gRPC, with details of google.rpc (RetryInfo, QuotaFailure).

use bytes::Bytes;
use http::Response;
use http::header::CONTENT_TYPE;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, QuotaViolation, StatusExt};

use crate::denied::{Denied, is_servers_fault};
use crate::head::Head;

/// Whether the client speaks gRPC.
pub(super) fn is_asked_for(head: Head<'_>) -> bool {
    let kind = head.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    let after = kind.and_then(|kind| kind.strip_prefix(b"application/grpc"));
    after.is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';' | b'-')))
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
    Status::with_error_details(code, denied.detail(), details).into_http()
}
