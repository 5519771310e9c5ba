//! Documents as text for people. Every function returns whole lines, each ended with a newline, without blank lines
//! around them, or an empty text; all text from outside is stripped of control characters.

mod advice;
mod comparison;
mod decision;
mod drive_list;
mod findings;
mod fleet_outliers;
mod footer;
mod gate;
mod header;
mod health;
mod history;
mod live;
mod model_file;
mod name_list;
mod plan;
mod price;
mod reproduction;
mod results;
mod runs;
mod summary;
mod test_result;
mod together;
mod trace;
mod verbose;
mod verdicts;
mod watch;

pub use crate::workloads::phybs_table;
pub use advice::{layout, machine_advice};
pub(crate) use comparison::{best_of, factor, metric_unit, sentences, simulated_badge};
pub use comparison::{comparison, thresholds};
pub use drive_list::{drive_list, drive_list_in_full};
pub use findings::{finding_explained, findings, findings_in_brief};
pub use fleet_outliers::fleet_outliers;
pub(crate) use fleet_outliers::{figure_words, outlier_notes, outlier_sentence, q_words};
pub use gate::gate;
pub use header::header;
pub use history::history;
pub(crate) use history::{
    change_clause, change_words, counted_runs, history_sentences, history_unit,
};
pub use live::live;
pub use model_file::model_file;
pub use name_list::name_list;
pub use plan::{dry_run, plan};
pub use price::price;
pub use reproduction::reproduction;
pub use results::results;
pub(crate) use results::results_in_full;
pub(crate) use runs::minute;
pub use runs::{RunRow, runs};
pub use summary::{run_summary, saved};
pub(crate) use test_result::test_result;
pub use together::together_announced;
pub use trace::trace_summary;
pub use verbose::verbose;
pub use verdicts::verdicts;
pub use watch::{watch_head, watch_line};

#[cfg(test)]
mod tests;
