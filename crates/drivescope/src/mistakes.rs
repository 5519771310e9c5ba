//! Mistakes on the command line, each in one line with what was probably meant.

use crate::exit::Failure;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use drivescope_drive::DriveError;
use drivescope_model::shell::quoted;
use drivescope_sim::library::BUILT_IN;
use std::path::Path;

/// A mistake in one line, with the command that was probably meant.
pub fn explained(error: &clap::Error) -> String {
    let line = one_line(&error.render().to_string());
    let named = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(name)) => name.as_str(),
        _ => "",
    };
    if named.starts_with("sim:") || (!named.is_empty() && Path::new(named).exists()) {
        return format!(
            "unknown command '{named}'; to measure it: drivescope run {}",
            quoted(named)
        );
    }
    let lacks_target =
        error.kind() == ErrorKind::MissingRequiredArgument && line.contains("<TARGET>");
    let line = line.strip_suffix("; see --help").filter(|_| lacks_target).unwrap_or(&line);
    let remedy = "; to measure the drive under this directory: drivescope run . (see --help)";
    format!("{line}{}", if lacks_target { remedy } else { "" })
}

/// A target that cannot be opened; the name of a model was probably meant as a simulated drive.
pub fn no_target(path: &Path, error: DriveError) -> Failure {
    let named = path.to_str().unwrap_or_default();
    let model = named.split('?').next().unwrap_or_default();
    let is_model = BUILT_IN.iter().any(|(name, _)| name.eq_ignore_ascii_case(model));
    if !is_model || !matches!(error, DriveError::NotFound { .. }) {
        return error.into();
    }
    let meant = quoted(&format!("sim:{}", named.replacen(model, &model.to_lowercase(), 1)));
    Failure::usage(format!(
        "no such path: {named}; to measure the simulated drive: drivescope run {meant}"
    ))
}

/// In one line: the fault, the tip if there is one, and where to read more.
fn one_line(rendered: &str) -> String {
    let before_usage = rendered.split("\nUsage:").next().unwrap_or(rendered);
    let before_usage = before_usage.split("\nFor more information").next().unwrap_or(before_usage);
    let lines: Vec<&str> = before_usage.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let text = lines.join("; ").replace(":; ", ": ");
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    format!("{text}; see --help")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Arguments;
    use clap::Parser;

    #[test]
    fn measurable_target_gets_the_command_that_measures_it() {
        let explanation = |args: &[&str]| {
            explained(&Arguments::try_parse_from([&["drivescope"], args].concat()).unwrap_err())
        };
        for (args, end) in [
            (&["."][..], "; to measure it: drivescope run ."),
            (&["/dev/null"], "; to measure it: drivescope run /dev/null"),
            (&["sim:wd40efrx?seed=7"], "; to measure it: drivescope run 'sim:wd40efrx?seed=7'"),
            (&["rum"], "; see --help"),
            (
                &["run"],
                "; to measure the drive under this directory: drivescope run . (see --help)",
            ),
            (&["show"], "; see --help"),
        ] {
            let line = explanation(args);
            assert!(line.ends_with(end) && !line.contains('\n'), "{line}");
            assert_eq!(
                line.matches("see --help").count(),
                end.matches("see --help").count(),
                "{line}"
            );
        }
    }

    #[test]
    fn model_name_gets_the_command_that_measures_it() {
        for (named, meant) in [
            ("wd40efrx", Some("sim:wd40efrx")),
            ("WD40EFRX?fill=0.5", Some("'sim:wd40efrx?fill=0.5'")),
            ("wd40", None),
        ] {
            let path = Path::new(named);
            let line = no_target(path, DriveError::NotFound { path: path.into() }).message;
            let end = meant.map(|meant| format!(": drivescope run {meant}"));
            assert_eq!(end.is_some(), line.contains("simulated"), "{line}");
            assert!(line.ends_with(&end.unwrap_or_else(|| "this machine".to_string())), "{line}");
        }
    }

    #[test]
    fn mistakes_become_one_line() {
        let wrong = |args: &[&str]| {
            let error = Arguments::try_parse_from(args).unwrap_err();
            one_line(&error.render().to_string())
        };
        for (args, words) in [
            (&["drivescope", "run", ".", "--size", "12XB"][..], "not a size unit"),
            (&["drivescope", "run", ".", "--sise", "1G"][..], "--size"),
            (&["drivescope", "rum", "."][..], "run"),
            (&["drivescope", "run"][..], "TARGET"),
            (&["drivescope", "run", ".", "--price", "cheap"][..], "105USD"),
            (&["drivescope", "run", ".", "--time", "1y"][..], "unit of time"),
            (&["drivescope", "run", ".", "--write", "all"][..], "same-bytes, restore or destroy"),
            (&["drivescope", "run", ".", "--write", "destroy:S"][..], "--destroy SERIAL"),
            (&["drivescope", "run", ".", "--write", "same-bytes:S1"][..], "no serial number"),
            (&["drivescope", "run", ".", "--write", "restore", "--destroy", "S"][..], "--destroy"),
            // As shells leave of a variable that is not set.
            (&["drivescope", "run", ".", "--write", "restore:"][..], "no serial number follows"),
            (&["drivescope", "run", ".", "--destroy", ""][..], "--destroy <SERIAL>"),
        ] {
            let line = wrong(args);
            assert!(line.contains(words) && !line.contains('\n'), "{line}");
        }
    }
}
