//! What every request passes on its way in, and every answer on its way out.

use crate::guard::{Admission, Guard};
use crate::pages;
use crate::site::Site;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};
use std::sync::Arc;
use std::time::Duration;

/// An answer takes this long at most; a store that is locked is waited for 5 s.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// What the pages may load: what this server itself sends, and nothing else. No page of others may show them.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Headers of every answer. Pages have serial numbers in them, so nothing is kept by the browser.
const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    // Browsers send the origin of a form only with this policy or a weaker one.
    (header::REFERRER_POLICY, "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("x-robots-tag"), "noindex"),
];

/// Checks a request, limits the time of its answer, and adds the headers.
pub async fn front_door(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let admission = site.guard.judge(request.method(), request.uri(), request.headers());
    let mut answer = match admission {
        Admission::Pass => match tokio::time::timeout(ANSWER_WITHIN, next.run(request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let why = "This took too long. Try again.";
                pages::refusal(StatusCode::SERVICE_UNAVAILABLE, why)
            }
        },
        Admission::LetIn(address) => let_in(&site.guard, &address),
        Admission::Refused(status, why) => pages::refusal(status, why),
    };
    for (name, value) in HEADERS {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

/// Leads to the address without the token, which then stays neither in sight nor in the browser's history.
fn let_in(guard: &Guard, address: &str) -> Response {
    let mut answer = Redirect::to(address).into_response();
    if let Ok(cookie) = HeaderValue::from_str(&guard.cookie()) {
        answer.headers_mut().insert(header::SET_COOKIE, cookie);
    }
    answer
}
