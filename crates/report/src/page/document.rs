//! How a run was made, and the whole of it for download.

use super::{findings, verdicts};
use base64::Engine as _;
use drivescope_model::{Bytes, Run};
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, html};
use std::io::Write as _;

pub fn method(run: &Run) -> Markup {
    let host = &run.host;
    let rows = [
        ("program", format!("drivescope {} ({} build)", run.tool.version, run.tool.build)),
        (
            "machine",
            format!("{}, {} CPUs, {} of memory", host.cpu, host.cpus, Bytes(host.memory_bytes)),
        ),
        ("system", format!("{}, Linux {}", host.os, host.kernel)),
        ("engine", format!("{:?}", run.plan.engine).to_lowercase()),
        ("seed", run.plan.seed.to_string()),
    ];
    html! {
        section {
            h2 { "How it was measured" }
            (verdicts::reasons(run))
            (findings::causes(&run.findings))
            @if let Some(together) = &run.together {
                p {
                    "Measured at the same time: " (together.targets.join(", ")) ". "
                    @for line in together.facts() { (line) ". " }
                }
            }
            details {
                summary { "Environment" }
                table { @for (name, value) in rows { tr { th scope="row" { (name) } td { (value) } } } }
            }
            details {
                summary { "Method" }
                p {
                    "A figure is the median of its rounds. The range below it is the 95 % interval of that median \
                     within this run; extremes are those of all rounds. MB is 10⁶ bytes. A figure with ! is not the \
                     drive's: a finding says why."
                }
            }
        }
    }
}

pub fn download(run: &Run) -> Markup {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let packed =
        gzip.write_all(run.to_json().as_bytes()).and_then(|()| gzip.finish()).unwrap_or_default();
    let data = base64::engine::general_purpose::STANDARD.encode(packed);
    html! {
        p { a download={ "drivescope-" (run.id) ".json.gz" } href={ "data:application/gzip;base64," (data) } {
            "Download the whole run with its curves (JSON, gzip)"
        } }
    }
}
