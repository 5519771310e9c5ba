//! `explain`: what a finding means, as in docs/findings.md.

use crate::exit::{Code, Failure};
use crate::output;
use drivescope_model::FindingId;
use drivescope_model::nearest::nearest;
use drivescope_report::text;

/// Without a name, lists all findings.
pub fn explain(name: Option<&str>) -> Result<Code, Failure> {
    let style = output::style();
    let Some(name) = name else {
        let all = FindingId::ALL.iter().map(|id| id.spec());
        let pairs: Vec<(&str, &str)> = all.map(|spec| (spec.id, spec.means)).collect();
        output::print_line(&text::name_list(&pairs, style));
        return Ok(Code::Ok);
    };
    let is_named = |id: &&FindingId| {
        let spec = id.spec();
        [spec.id, spec.name].iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    let found = FindingId::ALL.iter().find(is_named).ok_or_else(|| unknown(name))?;
    output::print_line(&text::finding_explained(*found, style));
    Ok(Code::Ok)
}

fn unknown(name: &str) -> Failure {
    let names = FindingId::ALL.iter().map(|id| id.spec().name);
    let meant =
        nearest(name, names).map_or(String::new(), |meant| format!(", did you mean '{meant}'?"));
    Failure::usage(format!("no finding '{name}'{meant}; drivescope explain lists them"))
}
