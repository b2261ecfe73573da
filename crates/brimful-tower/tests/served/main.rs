//! The layer in real servers on the loopback, over HTTP/1, HTTP/2 and gRPC.

mod fields;
mod grpc;
mod obeying;
mod server;
mod waiting;
mod wire;
