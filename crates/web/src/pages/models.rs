//! The simulated models.

use super::layout::{SitePart, page};
use crate::form::address;
use crate::site::Site;
use axum::response::Html;
use drivescope_model::Bytes;
use maud::html;

pub fn models(site: &Site) -> Html<String> {
    let body = html! {
        h1 { "Simulated drives" }
        p {
            "Each is measured in virtual time: hours take seconds, nothing on this machine is read or written, and the \
             same seed gives the same figures. Choose one to measure it."
        }
        div.scroll tabindex="0" role="region" aria-label="Simulated drives" {
            table.roomy {
                thead { tr {
                    th scope="col" { "name" }
                    th.number scope="col" { "size" }
                    th scope="col" { "model" }
                    th scope="col" { "what it is" }
                } }
                tbody { @for model in site.workbench.models() {
                    tr {
                        th.whole scope="row" {
                            a href=(address("/measure", &[("target", &format!("sim:{}", model.name))])) {
                                "sim:" (model.name)
                            }
                        }
                        td.number { (Bytes(model.capacity_bytes)) }
                        td { (model.model) }
                        td { (model.summary) }
                    }
                } }
            }
        }
    };
    page(site, "Simulated drives", SitePart::Models, None, &body)
}
