//! Connections: how many, how large, how long. All of it on one thread, beside a few for the store: a measurement may
//! run meanwhile.

use crate::routes::router;
use crate::site::Site;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io::{self, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{interval, sleep, timeout};

/// Connections at a time: ten browsers with six each.
const CLIENTS_MAX: usize = 64;
/// Threads for the store and for pages, at most.
const WORKERS_MAX: usize = 4;
/// A request's head comes within this time, or the connection ends; so does one that is idle.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
const HEAD_MAX: usize = 16 << 10;
/// A connection takes no new request after this time: browsers open another one.
const CONNECTION_LIFE: Duration = Duration::from_secs(60);
/// After that, the last answer must be read within this time; slower readers are dropped.
const LAST_ANSWER: Duration = Duration::from_secs(15);
/// Interval between checks for a signal.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The pause after a connection that could not be taken: perhaps there are too many open files.
const RECOVERY: Duration = Duration::from_millis(200);
/// The answer to a client above the limit.
const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 10\r\nConnection: close\r\n\
    Content-Type: text/plain\r\nContent-Length: 42\r\n\r\ntoo many clients at once; try again later\n";

/// Serves the pages until `stop` is raised. Answers that are under way then are not waited for.
/// Errors: the system gives no means to wait for connections.
pub fn serve(
    listener: std::net::TcpListener,
    site: Arc<Site>,
    stop: &AtomicBool,
) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(WORKERS_MAX).build()?;
    listener.set_nonblocking(true)?;
    let served = runtime.block_on(accept(listener, router(site), stop));
    runtime.shutdown_background();
    served
}

async fn accept(
    listener: std::net::TcpListener,
    router: Router,
    stop: &AtomicBool,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(CLIENTS_MAX));
    let mut look = interval(LOOK_EVERY);
    while !stop.load(Ordering::Acquire) {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = look.tick() => continue,
        };
        let Ok((stream, _)) = accepted else {
            sleep(RECOVERY).await;
            continue;
        };
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                let router = router.clone();
                tokio::spawn(async move {
                    connection(stream, router).await;
                    drop(place);
                });
            }
            // Whether this one hears it is its own affair.
            Err(_) => drop(stream.into_std().and_then(|mut stream| stream.write(BUSY))),
        }
    }
    Ok(())
}

/// One client, to its end. Its errors concern no other client.
async fn connection(stream: TcpStream, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_WITHIN).max_buf_size(HEAD_MAX);
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    if timeout(CONNECTION_LIFE, connection.as_mut()).await.is_err() {
        connection.as_mut().graceful_shutdown();
        let _ = timeout(LAST_ANSWER, connection).await;
    }
}
