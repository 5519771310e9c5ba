//! Which address shows what.

use crate::browser_run::BrowserRun;
use crate::form::Fields;
use crate::front_door::front_door;
use crate::pages::{self, PageError};
use crate::run_board::BoardState;
use crate::site::Site;
use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::middleware::from_fn_with_state;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use drivescope_model::Run;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

/// A form is short.
const BODY_MAX_BYTES: usize = 16 << 10;
/// How long a browser follows a run before it asks again: shorter than its connection may last.
const FOLLOWED_FOR: Duration = Duration::from_secs(45);
/// Pause between two states of a run: more than four a second cannot be read.
const STATE_EVERY: Duration = Duration::from_millis(250);
/// A sign of life on a silent connection.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

pub fn router(site: Arc<Site>) -> Router {
    let text = |kind: &'static str, text: &'static str| {
        get(move || async move { ([(header::CONTENT_TYPE, kind)], text) })
    };
    Router::new()
        .route("/", get(drives))
        .route("/runs", get(runs))
        .route("/runs/{id}", get(run))
        .route("/runs/{id}/document.json", get(document))
        .route("/runs/{id}/metrics.csv", get(metrics))
        .route("/compare", get(compare))
        .route("/history", get(history))
        .route("/models", get(models))
        .route("/fleet", get(fleet_hosts))
        .route("/fleet/drives", get(fleet_drives))
        .route("/fleet/jobs", get(fleet_submissions))
        .route("/fleet/submission", get(fleet_submission))
        .route("/fleet/outliers", get(fleet_outliers))
        .route("/metrics", get(drive_metrics))
        .route("/measure", get(measure).post(start))
        .route("/live/{number}", get(live))
        .route("/live/{number}/events", get(events))
        .route("/live/{number}/stop", post(stop))
        .route("/serve.css", get(style))
        .route("/serve.js", get(script))
        .route("/icon.svg", text("image/svg+xml", pages::ICON))
        .fallback(async |State(site): Shared| PageError::nothing_here().shown(&site))
        .layer(DefaultBodyLimit::max(BODY_MAX_BYTES))
        .layer(from_fn_with_state(Arc::clone(&site), front_door))
        .with_state(site)
}

type Shared = State<Arc<Site>>;

/// Makes an answer on a thread that may wait for the store.
async fn made<T: IntoResponse + Send + 'static>(
    site: Arc<Site>,
    make: impl FnOnce(&Site) -> Result<T, PageError> + Send + 'static,
) -> Response {
    let shared = Arc::clone(&site);
    let make = move || match make(&shared) {
        Ok(page) => page.into_response(),
        Err(error) => error.shown(&shared),
    };
    match tokio::task::spawn_blocking(make).await {
        Ok(answer) => answer,
        // What went wrong stands in the terminal.
        Err(_) => PageError::broken().shown(&site),
    }
}

fn fields(query: Option<String>) -> Fields {
    Fields::parse(query.unwrap_or_default().as_bytes())
}

async fn drives(State(site): Shared) -> Response {
    made(site, pages::drives).await
}

async fn runs(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    made(site, move |site| pages::runs(site, &fields(query))).await
}

async fn run(State(site): Shared, Path(id): Path<String>) -> Response {
    made(site, move |site| pages::run(site, &id)).await
}

async fn document(State(site): Shared, Path(id): Path<String>) -> Response {
    made(site, move |site| pages::document(site, &id)).await
}

async fn metrics(State(site): Shared, Path(id): Path<String>) -> Response {
    made(site, move |site| pages::metrics(site, &id)).await
}

async fn compare(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    made(site, move |site| pages::compare(site, &fields(query))).await
}

async fn history(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    made(site, move |site| pages::history(site, &fields(query))).await
}

async fn models(State(site): Shared) -> Response {
    made(site, |site| Ok(pages::models(site))).await
}

async fn fleet_hosts(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    made(site, move |site| pages::fleet::hosts(site, &fields(query))).await
}

async fn fleet_drives(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    made(site, move |site| pages::fleet::drives(site, &fields(query))).await
}

async fn fleet_submissions(State(site): Shared) -> Response {
    made(site, pages::fleet::submissions).await
}

async fn fleet_submission(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    made(site, move |site| pages::fleet::submission(site, &fields(query))).await
}

async fn fleet_outliers(State(site): Shared) -> Response {
    made(site, pages::fleet::outliers).await
}

async fn drive_metrics(State(site): Shared, headers: HeaderMap) -> Response {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    let accepted = accepted.unwrap_or_default().to_string();
    made(site, move |site| pages::drive_metrics(site, &accepted)).await
}

async fn measure(State(site): Shared, RawQuery(query): RawQuery) -> Response {
    made(site, move |site| Ok(pages::measure(site, &fields(query), None))).await
}

async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], pages::style()).into_response()
}

async fn script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], pages::script()).into_response()
}

/// Starts a run and redirects to its page; or shows the form again with what is wrong.
async fn start(State(site): Shared, body: Bytes) -> Response {
    made(site, move |site| {
        let fields = Fields::parse(&body);
        let started = pages::wish(site, &fields)
            .and_then(|wish| site.runs.start(site.workbench.as_ref(), &wish));
        Ok(match started {
            Ok(number) => Redirect::to(&format!("/live/{number}")).into_response(),
            Err(why) => pages::not_started(pages::measure(site, &fields, Some(&why))),
        })
    })
    .await
}

fn browser_run(site: &Site, number: &str) -> Result<BrowserRun, PageError> {
    let found = number.parse().ok().and_then(|number| site.runs.find(number));
    found.ok_or_else(PageError::no_such_browser_run)
}

async fn live(State(site): Shared, Path(number): Path<String>) -> Response {
    made(site, move |site| Ok(pages::live(site, &browser_run(site, &number)?))).await
}

async fn stop(State(site): Shared, Path(number): Path<String>) -> Response {
    made(site, move |site| {
        let run = browser_run(site, &number)?;
        run.stop();
        Ok(Redirect::to(&format!("/live/{}", run.number)))
    })
    .await
}

/// The states of a run as they come, until its end or until it is time to ask again. A slow reader gets the newest.
async fn events(State(site): Shared, Path(number): Path<String>) -> Response {
    let followed = match browser_run(&site, &number) {
        Ok(run) => run,
        Err(error) => return error.shown(&site),
    };
    let Ok(place) = Arc::clone(&followed.places).try_acquire_owned() else {
        return PageError::too_many().shown(&site);
    };
    let begun = Instant::now();
    let follower = Follower { site, board: followed.board, sent: None, begun, _place: place };
    let states =
        futures_util::stream::unfold((Some(follower), true), |(follower, is_first)| async move {
            let (event, rest) = follower?.next(is_first).await?;
            Some((Ok::<_, Infallible>(event), (rest, false)))
        });
    Sse::new(states).into_response()
}

struct Follower {
    site: Arc<Site>,
    board: watch::Receiver<BoardState>,
    /// The figures that the browser has.
    sent: Option<Arc<Run>>,
    begun: Instant,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    /// The next event, and the stream for the one after it.
    async fn next(mut self, is_first: bool) -> Option<(Event, Option<Self>)> {
        if self.begun.elapsed() > FOLLOWED_FOR {
            return None;
        }
        if !is_first {
            tokio::time::sleep(STATE_EVERY).await;
            let is_running = self.board.borrow().end.is_none();
            if is_running && timeout(SIGN_OF_LIFE, self.board.changed()).await.is_err() {
                return Some((Event::default().comment(""), Some(self)));
            }
        }
        let state = self.board.borrow_and_update().clone();
        let data = pages::live_event(&self.site, &state, self.sent.as_ref());
        self.sent.clone_from(&state.run);
        let event = Event::default().data(data);
        Some((event, state.end.is_none().then_some(self)))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{FakeFleet, FakeWorkbench};
    use crate::{Guard, Site, serve};
    use drivescope_store::StoreLocation;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    fn answer(address: SocketAddr, method: &str, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close");
        stream.write_all(format!("{head}\r\nOrigin: http://{address}\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    /// What each request is answered, as status and page, by a server with this fleet.
    fn answers(fleet: Option<FakeFleet>, requests: &[(&str, &str)]) -> Vec<(u16, String)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let store = StoreLocation::of_file("/absent/runs.db");
        let guard = Guard::new(address, &[], None);
        let site = Arc::new(Site::new(store, Box::new(FakeWorkbench(fleet)), guard));
        let stop = Arc::new(AtomicBool::new(false));
        let served = {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || serve(listener, site, &stop).unwrap())
        };
        let found = requests.iter().map(|(method, path)| {
            let text = answer(address, method, path);
            (text[9..12].parse().unwrap(), text)
        });
        let found = found.collect();
        stop.store(true, Ordering::Release);
        served.join().unwrap();
        found
    }

    const PAGES: [(&str, &str); 7] = [
        ("GET", "/fleet"),
        ("GET", "/fleet/drives"),
        ("GET", "/fleet/drives?select=model%3DWD40"),
        ("GET", "/fleet/drives?by=group&model=WD40&firmware=82.0"),
        ("GET", "/fleet/jobs"),
        ("GET", "/fleet/submission?key=it%27s+1"),
        ("GET", "/fleet/outliers"),
    ];

    #[test]
    fn fleet_pages_show_and_change_nothing() {
        let fleet = || Some(FakeFleet { has_hosts: true, is_silent: false });
        let parts = [
            "rack7-01",
            "1 drive in 1 group by model and firmware",
            "drivescope fleet submit quick --select model=WD40",
            "1 drive: WD40, firmware 82.0",
            "/fleet/submission?key=nightly",
            r"drivescope fleet cancel 'it'\''s 1'",
            "<h1>One is odd</h1>",
        ];
        for ((status, page), part) in answers(fleet(), &PAGES).into_iter().zip(parts) {
            let page = page.replace("&#39;", "'");
            assert_eq!(status, 200, "{page}");
            for part in [part, "<a href=\"/fleet\" aria-current=\"page\">Fleet", "only show"] {
                assert!(page.contains(part), "{part}: {page}");
            }
            assert!(!page.contains("method=\"post\""), "{page}");
        }
        let others = [
            ("POST", "/fleet"),
            ("POST", "/fleet/submission?key=nightly"),
            ("DELETE", "/fleet/jobs"),
            ("GET", "/fleet/submission?key=absent"),
            ("GET", "/fleet/submission"),
            ("GET", "/models"),
        ];
        let found = answers(fleet(), &others);
        let statuses: Vec<u16> = found.iter().map(|(status, _)| *status).collect();
        assert_eq!(statuses, [405, 405, 405, 404, 404, 200]);
        assert!(found.iter().skip(3).all(|(_, page)| page.contains("href=\"/fleet\"")));
    }

    #[test]
    fn mistaken_expression_keeps_its_form() {
        let fleet = FakeFleet { has_hosts: true, is_silent: false };
        let found = answers(Some(fleet), &[("GET", "/fleet/drives?select=speed%3E9")]);
        let (status, page) = &found[0];
        assert_eq!(*status, 200);
        for part in ["no field is called", "role=\"alert\"", "value=\"speed&gt;9\""] {
            assert!(page.contains(part), "{part}: {page}");
        }
    }

    #[test]
    fn navigation_has_a_fleet_where_there_are_hosts() {
        let pages = [("GET", "/models"), ("GET", "/fleet"), ("GET", "/absent")];
        let without = answers(None, &pages);
        assert_eq!(without[1].0, 404);
        assert!(without[1].1.contains("store on a server"), "{}", without[1].1);
        let empty = answers(Some(FakeFleet { has_hosts: false, is_silent: false }), &pages);
        assert!(empty[1].0 == 200 && empty[1].1.contains("drivescope fleet agent"));
        for (_, page) in [&without[0], &without[2], &empty[0], &empty[2]] {
            assert!(!page.contains("href=\"/fleet\""), "{page}");
        }
    }

    #[test]
    fn silent_database_is_named_on_every_fleet_page() {
        let fleet = FakeFleet { has_hosts: true, is_silent: true };
        for (status, page) in answers(Some(fleet), &PAGES) {
            assert_eq!(status, 503, "{page}");
            assert!(page.contains("has not answered for 8 s") && page.contains("href=\"/fleet\""));
        }
    }
}
