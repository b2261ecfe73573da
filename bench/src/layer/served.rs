//! The same layers in a server of axum's, asked over connections that are kept: requests a second.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Instant;

use axum::Router;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use super::contenders::ENTRANTS;
use super::{Found, Outcome, Plan, report};
use crate::keys::Random;
use crate::report::Report;

const CONNECTIONS: u8 = 32;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

/// Measures both workloads.
///
/// # Errors
/// There is no loopback device to listen on, a server went away, or a response has another status than its limit
/// demands.
pub fn measure(plan: &Plan, report_to: &mut Report) -> io::Result<()> {
    let mut random = Random::new(0x7365_7276_6564_0001);
    // A thread for the servers, and this one for the clients.
    let servers = Builder::new_multi_thread().worker_threads(1).enable_io().build()?;
    let clients = Builder::new_current_thread().enable_io().build()?;
    for outcome in Outcome::ALL {
        let mut rows = Vec::new();
        for entrant in &ENTRANTS {
            if let Some(router) = entrant.served {
                rows.push((entrant.name, row(&servers, &clients, router(outcome))?));
            }
        }
        let bare = ENTRANTS.first().and_then(|bare| bare.served);
        if let Some(router) = bare {
            rows.push(("bare-again", row(&servers, &clients, router(outcome))?));
        }
        let mut found: Vec<Found> =
            rows.iter().map(|(name, _)| Found { name, values: Vec::new() }).collect();
        // Every client has spent what it has, and no connection is new.
        for (_, connections) in &mut rows {
            clients.block_on(ask(connections, 1, None))?;
        }
        let mut order: Vec<usize> = (0..rows.len()).collect();
        for _ in 0..plan.served_rounds {
            random.shuffle(&mut order);
            for &index in &order {
                let (name, connections) = &mut rows[index];
                let denies = outcome == Outcome::Denied && !name.starts_with("bare");
                let status = if denies { b"429" } else { b"200" };
                let start = Instant::now();
                clients.block_on(ask(connections, plan.served_requests, Some(status)))?;
                let took = start.elapsed().as_secs_f64();
                let requests = connections.len() * plan.served_requests;
                found[index].values.push(requests as f64 / took);
            }
        }
        report(report_to, &format!("served-{}", outcome.name()), "requests/s", &found);
    }
    Ok(())
}

/// Serves a router, and connects to it from so many addresses.
fn row(servers: &Runtime, clients: &Runtime, router: Router) -> io::Result<Vec<TcpStream>> {
    let listener = servers.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
    let server = listener.local_addr()?;
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    servers.spawn(async { axum::serve(listener, service).await });
    clients.block_on(async {
        let mut connections = Vec::new();
        for client in 1..=CONNECTIONS {
            let socket = TcpSocket::new_v4()?;
            socket.bind((Ipv4Addr::new(127, 0, 1, client), 0).into())?;
            let connection = socket.connect(server).await?;
            connection.set_nodelay(true)?;
            connections.push(connection);
        }
        Ok(connections)
    })
}

/// Sends so many requests on each of the connections, one after the other.
async fn ask(
    connections: &mut Vec<TcpStream>,
    requests: usize,
    status: Option<&'static [u8; 3]>,
) -> io::Result<()> {
    let mut asking = JoinSet::new();
    for mut connection in connections.drain(..) {
        asking.spawn(async move {
            let mut room = Vec::with_capacity(4096);
            for _ in 0..requests {
                connection.write_all(REQUEST).await?;
                let got = receive(&mut connection, &mut room).await?;
                if status.is_some_and(|status| *status != got) {
                    return Err(wrong(&format!("status {}", String::from_utf8_lossy(&got))));
                }
            }
            Ok(connection)
        });
    }
    while let Some(asked) = asking.join_next().await {
        connections.push(asked.map_err(io::Error::other)??);
    }
    Ok(())
}

/// Reads one response. Its status.
async fn receive(connection: &mut TcpStream, room: &mut Vec<u8>) -> io::Result<[u8; 3]> {
    room.clear();
    loop {
        if connection.read_buf(room).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(head) = room.windows(4).position(|four| four == b"\r\n\r\n") {
            let (head, body) = room.split_at(head + 4);
            let mut lines = head.split(|byte| *byte == b'\n');
            let status = lines.next().and_then(|line| line.get(9..12)?.try_into().ok());
            let status = status.ok_or_else(|| wrong("no status"))?;
            let length = lines.find_map(|line| line.strip_prefix(b"content-length: "));
            let length = length.and_then(|length| str::from_utf8(length).ok()?.trim().parse().ok());
            let length: usize = length.ok_or_else(|| wrong("no content-length"))?;
            if body.len() >= length {
                return Ok(status);
            }
        }
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a response with {what}"))
}
