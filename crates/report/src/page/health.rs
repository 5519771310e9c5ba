//! The health of the drive, before the run and after it.

use crate::health_facts::{
    ATTRIBUTE_HEADS, SELF_TEST_HEADS, attribute_row, health_facts, last_self_tests, self_test_row,
};
use drivescope_model::Run;
use drivescope_model::health::Health;
use maud::{Markup, html};

/// Nothing of a drive that reports none.
pub(super) fn health(run: &Run) -> Markup {
    let health = run.drive.as_ref().map(|drive| &drive.health).filter(|it| it.is_known());
    let Some(health) = health else { return html! {} };
    let after = run.health_after.as_ref();
    html! {
        section {
            h2 { "Health" }
            p.small { "What the drive itself reports (SMART)" @if after.is_none() { ", before the run" } "." }
            (figures(health, after))
        }
    }
}

/// The health of a drive now, folded unless a figure is a reason to worry; nothing of a drive that reports none.
pub fn folded_health(health: &Health) -> Markup {
    let is_open = health_facts(health, None).iter().any(|fact| fact.is_bad);
    html! {
        @if health.is_known() {
            details open[is_open] { summary { "Health (SMART)" } (figures(health, None)) }
        }
    }
}

fn figures(health: &Health, after: Option<&Health>) -> Markup {
    let last = after.unwrap_or(health);
    let tests = last_self_tests(last);
    html! {
        dl.facts { @for fact in health_facts(health, after) {
            dt { (fact.name) }
            dd { @if fact.is_bad { strong { (fact.value) } } @else { (fact.value) } }
        } }
        @if !tests.is_empty() {
            (table("Self-tests", &SELF_TEST_HEADS, tests.iter().map(|test| self_test_row(test).to_vec())))
        }
        @if !last.attributes.is_empty() {
            details.screen {
                summary { (last.attributes.len()) " attributes of SMART" }
                (table("Attributes", &ATTRIBUTE_HEADS, last.attributes.iter().map(|it| attribute_row(it).to_vec())))
            }
        }
    }
}

fn table(name: &str, heads: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(name) {
            table {
                thead { tr { @for head in heads { th scope="col" { (head) } } } }
                tbody { @for row in rows { tr { @for field in row { td { (field) } } } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, must_have, worn_disk_health};

    #[test]
    fn health_of_a_sound_drive_is_folded() {
        let worn = worn_disk_health();
        must_have(&folded_health(&worn).into_string(), &["<details open><summary>", "41,207"]);
        let sound = Health { passed: Some(true), power_on_hours: Some(9), ..Health::default() };
        must_have(&folded_health(&sound).into_string(), &["<details><summary>", "<dd>9</dd>"]);
        assert_eq!(folded_health(&Health::default()).into_string(), "");
    }

    #[test]
    fn page_has_what_rose_and_every_attribute() {
        let mut run = hard_disk();
        let drive = run.drive.as_mut().unwrap();
        drive.health = worn_disk_health();
        let mut after = worn_disk_health();
        after.crc_errors = Some(15);
        run.health_after = Some(after);
        let page = health(&run).into_string();
        must_have(
            &page,
            &[
                "<dt>CRC errors of the link</dt><dd><strong>12, 15 after the run</strong>",
                "1 attributes of SMART",
                "<td>Reallocated_Sector_Ct</td><td>1288 (10 0)</td><td>5</td>",
                "<td>Extended offline</td><td>41,190 h</td>",
                "highest ever 56 °C, limit 60 °C",
            ],
        );
        run.drive.as_mut().unwrap().health = Health::default();
        assert_eq!(health(&run).into_string(), "");
    }
}
