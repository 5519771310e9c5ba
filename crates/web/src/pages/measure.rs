//! The form that starts a run.

use super::drives::in_progress;
use super::layout::{SitePart, page};
use crate::form::Fields;
use crate::level::BrowserLevel;
use crate::site::Site;
use crate::workbench::{ListedDrive, ListedSuite, RunWish, SuiteGroup};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};

/// The suite that `run` takes by default.
const SUITE: &str = "quick";
/// A longer text is not a label.
const LABEL_MAX_CHARS: usize = 200;

/// The form, filled with what was typed; `why` says what was wrong with it.
pub fn measure(site: &Site, fields: &Fields, why: Option<&str>) -> Html<String> {
    let (drives, suites) = (site.workbench.drives(), site.workbench.suites());
    let typed = |name: &str| fields.text(name).unwrap_or_default();
    let (target, suite) = (typed("target"), fields.text("suite").unwrap_or(SUITE.to_string()));
    let level = fields.text("level").unwrap_or_else(|| usual_level(&target).name().to_string());
    let body = html! {
        h1 { "Measure a drive" }
        @if let Some(why) = why { p.warning role="alert" { "Not started: " (why) } }
        form.fields.tall action="/measure" method="post" {
            p {
                label for="target" { "What to measure: a directory, a file, a block device, or a simulated drive" }
                input #target name="target" required value=(target) list="targets" autocomplete="off"
                    spellcheck="false" placeholder="/home, /dev/sda, sim:wd40efrx";
                datalist id="targets" {
                    @for target in targets(&drives) { option value=(target) {} }
                    @for model in site.workbench.models() {
                        option value={ "sim:" (model.name) } { (model.summary) }
                    }
                }
            }
            p {
                label for="suite" { "Suite" }
                select #suite name="suite" { @for group in SuiteGroup::ALL { (options(&suites, group, &suite)) } }
            }
            fieldset {
                legend { "What it may write" }
                @for (known, what) in BrowserLevel::ALL.into_iter().zip(LEVELS) {
                    p {
                        input type="radio" name="level" id=(known.name()) value=(known.name())
                            checked[level == known.name()];
                        label for=(known.name()) { (known.name()) ": " (what) }
                    }
                }
                p.small { "What writes more than this is started on the command line only." }
            }
            p {
                label for="label" { "Label (optional)" }
                input #label name="label" value=(typed("label")) autocomplete="off" maxlength=(LABEL_MAX_CHARS);
            }
            p { button type="submit" { "Measure" } }
        }
        (in_progress(&site.runs.running()))
    };
    page(site, "Measure", SitePart::Measure, None, &body)
}

/// The meaning of each of [`BrowserLevel::ALL`].
const LEVELS: [&str; 2] = [
    "nothing; for block devices, files and simulated drives",
    "files in a hidden folder of its own, removed afterwards; for directories",
];

/// What most users mean by this target.
fn usual_level(target: &str) -> BrowserLevel {
    if target.starts_with("/dev/") || target.starts_with("sim:") {
        BrowserLevel::Read
    } else {
        BrowserLevel::OwnFiles
    }
}

/// Where the drives are mounted, and their nodes.
fn targets(listed: &[ListedDrive]) -> Vec<&str> {
    let drives = || listed.iter().map(|listed| &listed.drive);
    let mut found: Vec<&str> = Vec::new();
    for drive in drives() {
        let parts = drive.partitions.iter().flat_map(|part| &part.mounts);
        for mount in drive.mounts.iter().chain(parts) {
            if mount.starts_with('/') && !found.contains(&mount.as_str()) {
                found.push(mount);
            }
        }
    }
    found.extend(drives().map(|drive| drive.path.as_str()));
    found
}

/// The suites of a group, if there are any.
fn options(suites: &[ListedSuite], group: SuiteGroup, chosen: &str) -> Markup {
    let suites: Vec<&ListedSuite> = suites.iter().filter(|suite| suite.group == group).collect();
    html! {
        @if !suites.is_empty() {
            optgroup label=(group.title()) {
                @for suite in suites {
                    option value=(suite.name) selected[suite.name == chosen] { (suite.name) ": " (suite.summary) }
                }
            }
        }
    }
}

/// The run that the form asks for.
/// Errors (one line): something is missing, or cannot be asked for here.
pub fn wish(site: &Site, fields: &Fields) -> Result<RunWish, String> {
    let target = fields.text("target").ok_or("say what to measure")?;
    let suite = fields.text("suite").unwrap_or(SUITE.to_string());
    // A name only: a path would be read.
    if site.workbench.suites().iter().all(|known| known.name != suite) {
        return Err(format!("there is no suite '{suite}'"));
    }
    let level = fields.text("level").ok_or("choose what it may write")?;
    let label = fields.text("label");
    if label.as_ref().is_some_and(|label| label.chars().count() > LABEL_MAX_CHARS) {
        return Err(format!("a label has at most {LABEL_MAX_CHARS} characters"));
    }
    Ok(RunWish { target, suite, level: BrowserLevel::parse(&level)?, label })
}

/// The form again, with a status that says that nothing was started.
pub fn not_started(form: Html<String>) -> Response {
    (StatusCode::UNPROCESSABLE_ENTITY, form).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_begin_with_the_three_usual_ones() {
        fn suite(name: &str, is_built_in: bool) -> ListedSuite {
            ListedSuite {
                name: name.to_string(),
                summary: String::new(),
                group: SuiteGroup::of(name, is_built_in),
            }
        }
        let names = ["first", "quick", "standard", "full", "as-ssd", "snia-pts-iops"];
        let mut all: Vec<ListedSuite> = names.map(|name| suite(name, true)).into();
        all.push(suite("quickest", false));
        let text: String = SuiteGroup::ALL
            .into_iter()
            .map(|group| options(&all, group, "full").into_string())
            .collect();
        let order: Vec<&str> = text.split("value=\"").skip(1).collect();
        let order = order.iter().map(|rest| rest.split('"').next().unwrap_or_default());
        let expected =
            ["quick", "standard", "full", "quickest", "first", "as-ssd", "snia-pts-iops"];
        assert_eq!(order.collect::<Vec<_>>(), expected);
        assert_eq!((text.matches("<optgroup").count(), text.matches(" selected").count()), (5, 1));
    }
}
