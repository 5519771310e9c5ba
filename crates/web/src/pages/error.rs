//! Pages that say why there is no other one, and lead back.

use super::layout::{SitePart, head, page};
use crate::fleet_view::FleetFault;
use crate::site::Site;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use drivescope_model::Secs;
use drivescope_store::{StoreError, StoreFault};
use maud::{DOCTYPE, Markup, html};

#[derive(Debug)]
pub struct PageError {
    status: StatusCode,
    title: &'static str,
    message: String,
    /// Address and label of the next page.
    back: (&'static str, &'static str),
}

const TO_RUNS: (&str, &str) = ("/runs", "All runs");
const TO_DRIVES: (&str, &str) = ("/", "The drives of this machine");
const TO_JOBS: (&str, &str) = ("/fleet/jobs", "All submissions");

impl PageError {
    pub fn nothing_here() -> Self {
        let message = "This address leads nowhere.".to_string();
        Self { status: StatusCode::NOT_FOUND, title: "Not found", message, back: TO_DRIVES }
    }

    pub fn no_such_browser_run() -> Self {
        let message = "No such run was started here since drivescope serve began. What it measured may be among the \
                       stored runs.";
        let message = message.to_string();
        Self { status: StatusCode::NOT_FOUND, title: "No such run", message, back: TO_RUNS }
    }

    pub fn unsuitable(title: &'static str, message: impl Into<String>) -> Self {
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        Self { status, title, message: message.into(), back: TO_RUNS }
    }

    pub fn broken() -> Self {
        let message =
            "Something went wrong; the terminal of drivescope serve says more.".to_string();
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self { status, title: "A fault of drivescope", message, back: TO_DRIVES }
    }

    pub fn no_fleet() -> Self {
        let message = "A fleet needs a store on a server, and this one is a file: drivescope serve --store \
                       postgres://USER@HOST/DATABASE.";
        let message = message.to_string();
        Self { status: StatusCode::NOT_FOUND, title: "No fleet", message, back: TO_DRIVES }
    }

    pub fn no_such_submission() -> Self {
        let message = "The fleet has no submission with this key.".to_string();
        let status = StatusCode::NOT_FOUND;
        Self { status, title: "No such submission", message, back: TO_JOBS }
    }

    pub fn too_many() -> Self {
        let message = "Too many browsers follow this run. Try again later.".to_string();
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self { status, title: "Too many at once", message, back: TO_RUNS }
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        let (status, title) = match error.fault {
            StoreFault::NoRun => (StatusCode::NOT_FOUND, "No such run"),
            StoreFault::Locked => (StatusCode::SERVICE_UNAVAILABLE, "The store is in use"),
            StoreFault::Unreachable => (StatusCode::SERVICE_UNAVAILABLE, "The store is away"),
            StoreFault::Document => (StatusCode::UNPROCESSABLE_ENTITY, "A run that cannot be read"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "The store cannot be used"),
        };
        let message = match error.fault {
            StoreFault::NoRun => format!("{message}. It may have been removed meanwhile."),
            _ => message,
        };
        Self { status, title, message, back: TO_RUNS }
    }
}

impl From<FleetFault> for PageError {
    fn from(fault: FleetFault) -> Self {
        let asked = match fault {
            FleetFault::Store(error) => return error.into(),
            FleetFault::Silent(asked) => asked,
            FleetFault::Expression(why) => return Self::unsuitable("No such choice", why),
        };
        let seconds = Secs(asked.as_secs_f64().round());
        let message = format!(
            "The database has not answered for {seconds}. It is asked again in a while. The hosts continue with their \
             jobs, and send results later."
        );
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Self { status, title: "The database does not answer", message, back: TO_DRIVES }
    }
}

impl PageError {
    pub fn shown(self, site: &Site) -> Response {
        let (to, words) = self.back;
        let body = html! {
            h1 { (self.title) }
            p.answer { (self.message) }
            p { a href=(to) { (words) } }
        };
        (self.status, page(site, self.title, SitePart::Other, None, &body)).into_response()
    }
}

/// The answer to a refused request: text alone, since a style sheet would be refused, too.
pub fn refusal(status: StatusCode, why: &str) -> Response {
    (status, bare("Refused", &html! { p { (why) } })).into_response()
}

fn bare(title: &str, body: &Markup) -> Html<String> {
    let whole = html! {
        (DOCTYPE)
        html lang="en" {
            head { (head(title)) }
            body { main { h1 { (title) } (body) } }
        }
    };
    Html(whole.into_string())
}
