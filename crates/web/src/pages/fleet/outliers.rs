//! The odd drives, as `drivescope fleet outliers` finds them.

use super::{FleetPage, fleet_page, view};
use crate::pages::error::PageError;
use crate::site::Site;
use axum::response::Html;
use maud::{PreEscaped, html};

pub fn outliers(site: &Site) -> Result<Html<String>, PageError> {
    let found = view(site)?.outliers_page()?;
    let body = html! {
        @match found {
            // The report escapes the names in it.
            Some(found) => (PreEscaped(found)),
            None => {
                h1 { "Outliers" }
                p.answer { "There is nothing to compare yet: drives are compared with others of their model, by their runs." }
            }
        }
    };
    let command = ("The same in a terminal", "outliers");
    Ok(fleet_page(site, "Odd drives of the fleet", FleetPage::Outliers, command, &body))
}
