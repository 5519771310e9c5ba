//! The simulated models.

use super::layout::{SitePart, page};
use crate::form::address;
use crate::site::Site;
use axum::response::Html;
use drivescope_model::Bytes;
use maud::html;

/// Lists them.
pub fn models(site: &Site) -> Html<String> {
    let body = html! {
        h1 { "Simulated drives" }
        p {
            "Each is measured in virtual time: hours take seconds, nothing on this machine is read or written, and the \
             same seed gives the same figures."
        }
        div.scroll tabindex="0" role="region" aria-label="Simulated drives" {
            table {
                thead { tr {
                    th scope="col" { "name" }
                    th scope="col" { "model" }
                    th.number scope="col" { "size" }
                    th scope="col" { "what it is" }
                    th scope="col" { span.hidden { "measure" } }
                } }
                tbody { @for model in site.workbench.models() {
                    tr {
                        th scope="row" { "sim:" (model.name) }
                        td { (model.model) }
                        td.number { (Bytes(model.capacity_bytes)) }
                        td { (model.summary) }
                        td.whole { a href=(address("/measure", &[("target", &format!("sim:{}", model.name))])) {
                            "Measure" span.hidden { " sim:" (model.name) }
                        } }
                    }
                } }
            }
        }
    };
    page("Simulated drives", SitePart::Models, None, &body)
}
