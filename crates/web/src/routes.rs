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
        .route("/metrics", get(drive_metrics))
        .route("/measure", get(measure).post(start))
        .route("/live/{number}", get(live))
        .route("/live/{number}/events", get(events))
        .route("/live/{number}/stop", post(stop))
        .route("/serve.css", get(style))
        .route("/serve.js", get(script))
        .route("/icon.svg", text("image/svg+xml", pages::ICON))
        .fallback(async || PageError::nothing_here().into_response())
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
    match tokio::task::spawn_blocking(move || make(&site).into_response()).await {
        Ok(answer) => answer,
        // What went wrong stands in the terminal.
        Err(_) => PageError::broken().into_response(),
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
        Err(error) => return error.into_response(),
    };
    let Ok(place) = Arc::clone(&followed.places).try_acquire_owned() else {
        return PageError::too_many().into_response();
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
