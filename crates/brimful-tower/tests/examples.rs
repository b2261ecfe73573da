//! The examples as programs: each serves, limits, and ends when it is told to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use tonic::Code;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

/// What hangs fails after this long.
const PATIENCE: Duration = Duration::from_secs(60);

/// More requests than are admitted even if each takes seconds.
const REQUESTS: usize = 50;

/// An example that runs on a port of its own, and is ended in any case.
struct Example {
    child: Child,
    /// Open while it runs, as who writes to a closed one ends.
    said: Option<BufReader<ChildStdout>>,
    address: SocketAddr,
}

impl Example {
    fn start(name: &str) -> Self {
        let program = program(name);
        assert!(
            program.exists(),
            "`cargo build -p brimful-tower --example {name}` makes {program:?}"
        );
        let mut command = Command::new(&program);
        let mut child = command.arg("0").stdout(Stdio::piped()).spawn().expect("a process");
        let mut said = BufReader::new(child.stdout.take().expect("its output"));
        let mut example = Self { child, said: None, address: SocketAddr::from(([0; 4], 0)) };
        let (line, said) = in_time(move || {
            let mut line = String::new();
            (said.read_line(&mut line).map(|_| line), said)
        });
        example.said = Some(said);
        // Nothing when it ended.
        let said = line.expect("text");
        let address =
            said.strip_prefix("listening on http://").and_then(|rest| rest.split(';').next());
        example.address = address.and_then(|text| text.parse().ok()).expect("an address");
        example
    }

    /// Ends it as ctrl-c does.
    #[cfg(unix)]
    fn interrupt(mut self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-INT", &pid]).status().expect("kill");
        assert!(sent.success());
        // Nobody writes to it any more when the process is gone.
        let mut said = self.said.take().expect("its output");
        let rest = in_time(move || {
            let mut rest = String::new();
            said.read_to_string(&mut rest).map(|_| rest)
        });
        assert!(rest.expect("text").contains("curl"));
    }

    #[cfg(not(unix))]
    fn interrupt(self) {}
}

impl Drop for Example {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What `f` says, which may not come at all.
fn in_time<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || send.send(f()));
    receive.recv_timeout(PATIENCE).expect("an end in time")
}

/// Where Cargo puts an example, seen from a test.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let target = test.parent().and_then(|deps| deps.parent()).expect("target/PROFILE");
    target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The response to a request of HTTP/1, as it is.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    stream.set_write_timeout(Some(PATIENCE)).expect("an option");
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut response = String::new();
    stream.take(100_000).read_to_string(&mut response).expect("a response");
    response
}

#[test]
fn the_servers_of_http_limit_their_clients() {
    for name in ["axum", "hyper"] {
        let example = Example::start(name);
        for _ in 0..3 {
            let served = get(example.address, "/");
            assert!(served.starts_with("HTTP/1.1 200 OK\r\n"), "{name}: {served}");
            assert!(served.ends_with("\r\n\r\nhello\n"), "{name}: {served}");
            assert!(served.contains("\r\nratelimit: \"10/min burst 3\";r="), "{name}: {served}");
        }
        let mut answers = (0..REQUESTS).map(|_| get(example.address, "/"));
        let denied =
            answers.find(|answer| answer.starts_with("HTTP/1.1 429 Too Many Requests\r\n"));
        let denied = denied.expect("a denial");
        assert!(denied.contains("\r\nretry-after: "), "{name}: {denied}");
        assert!(denied.contains("\"violated-policies\":[\"10/min burst 3\"]"), "{name}: {denied}");
        if name == "axum" {
            assert!(get(example.address, "/healthz").ends_with("\r\n\r\nwell\n"));
        }
        example.interrupt();
    }
}

#[test]
fn the_server_of_grpc_limits_its_clients() {
    let example = Example::start("tonic");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let asked = async {
        let server = Endpoint::from_shared(format!("http://{}", example.address));
        let channel = server.expect("an address").connect().await.expect("a connection");
        let mut client = HealthClient::new(channel);
        for _ in 0..3 {
            client.check(HealthCheckRequest::default()).await.expect("served");
        }
        for _ in 0..REQUESTS {
            if let Err(status) = client.check(HealthCheckRequest::default()).await {
                return status.code();
            }
        }
        Code::Ok
    };
    let runtime = runtime.expect("a runtime");
    let code = runtime.block_on(async { tokio::time::timeout(PATIENCE, asked).await });
    assert_eq!(code.expect("answers in time"), Code::ResourceExhausted);
    drop(runtime);
    example.interrupt();
}
