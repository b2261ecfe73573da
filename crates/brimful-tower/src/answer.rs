//! The response of a request that is not let through.

#[cfg(feature = "tonic")]
mod grpc;
mod problem;

use bytes::Bytes;
use http::Response;

use crate::denied::Denied;

/// What clients of its kind understand: a status of gRPC, or problem details in JSON.
pub(crate) fn answer(denied: &Denied<'_>) -> Response<Bytes> {
    #[cfg(feature = "tonic")]
    if grpc::is_asked_for(denied.head) {
        return grpc::answer(denied);
    }
    problem::answer(denied)
}
