//! Which traces are replayed, and where on the target.

use crate::workloads::shared::replay::footprint::Placement;
use drivescope_model::nearest::nearest;
use drivescope_model::options::{AppsOptions, ReplayTiming};
use drivescope_trace::built_in::TraceSource;
use drivescope_trace::import::ImportOptions;
use drivescope_trace::profile::TraceProfile;
use std::path::PathBuf;

/// The largest unit of direct I/O.
const UNIT: u64 = 4096;
pub(super) const SETS: [&str; 2] = ["synthetic", "recorded"];

#[derive(Debug, Clone)]
pub(super) struct PreparedTrace {
    pub(super) source: TraceSource,
    pub(super) cell: String,
    pub(super) profile: TraceProfile,
    pub(super) placement: Placement,
}

/// Traces that can be replayed, and why others cannot.
#[derive(Debug, Clone, Default)]
pub(super) struct PreparedTraces {
    pub(super) ready: Vec<PreparedTrace>,
    pub(super) refused: Vec<String>,
}

impl PreparedTrace {
    pub(super) fn writes(&self) -> bool {
        self.profile.totals.writes > 0
    }

    pub(super) fn timing(&self, options: &AppsOptions) -> ReplayTiming {
        match options.timing {
            ReplayTiming::Auto if self.profile.totals.has_latencies => ReplayTiming::Dependent,
            ReplayTiming::Auto => ReplayTiming::Deadlines,
            asked => asked,
        }
    }
}

/// Refuses names that no trace has, and choices that contradict each other.
pub(super) fn check_names(options: &AppsOptions) -> Result<(), String> {
    if options.file.is_some() && !options.traces.is_empty() {
        return Err("apps.file is a trace of its own; omit apps.traces".to_string());
    }
    let known: Vec<String> = TraceSource::built_in().map(|source| source.name()).collect();
    let all = || known.iter().map(String::as_str).chain(SETS);
    match options.traces.iter().find(|name| !all().any(|known| known == *name)) {
        Some(name) => {
            let hint = nearest(name, all()).map(|near| format!(" (did you mean '{near}'?)"));
            let hint = hint.unwrap_or_default();
            Err(format!("apps.traces: no trace '{name}'{hint}; there are {}", known.join(", ")))
        }
        None => Ok(()),
    }
}

/// The traces that `options` choose, for a target of `room` bytes. Errors: a file that cannot be read.
pub(super) fn choose(options: &AppsOptions, room: u64) -> Result<PreparedTraces, String> {
    let think_max_ns = options.think_max.map_or(u64::MAX, |think| think.nanos());
    // Requests grow to whole units; the end of a file need not be one.
    let room = room / UNIT * UNIT;
    let mut prepared = PreparedTraces::default();
    for source in sources(options) {
        let name = source.name();
        let profile = TraceProfile::of(|sink| source.read(sink), think_max_ns);
        let profile = profile.map_err(|error| about(&source, &error))?;
        match Placement::choose(&source, profile.totals.end_bytes, room, options.fit) {
            Ok(placement) => {
                let cell = cell_of(&name);
                prepared.ready.push(PreparedTrace { source, cell, profile, placement });
            }
            Err(error) => prepared.refused.push(about(&source, &error)),
        }
    }
    Ok(prepared)
}

/// What is wrong with a trace, to follow its name.
pub(super) fn about(source: &TraceSource, error: &drivescope_trace::TraceError) -> String {
    let name = match source {
        TraceSource::File { path, .. } => path.display().to_string(),
        _ => source.name(),
    };
    let joint = if error.is_of_a_line() { ": " } else { " " };
    format!("{name}{joint}{error}")
}

fn sources(options: &AppsOptions) -> Vec<TraceSource> {
    if let Some(path) = &options.file {
        let taken = ImportOptions { device: options.device.clone(), ..ImportOptions::default() };
        return vec![TraceSource::File { path: PathBuf::from(path), options: taken }];
    }
    let is_chosen = |source: &TraceSource| {
        let named = |name: &String| *name == source.name() || source.set_name() == Some(name);
        options.traces.is_empty() || options.traces.iter().any(named)
    };
    TraceSource::built_in().filter(is_chosen).collect()
}

/// A name without what separates the parts of metric keys.
fn cell_of(name: &str) -> String {
    let cell: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' })
        .collect();
    if cell.is_empty() { "trace".to_string() } else { cell.to_lowercase() }
}
