//! Why a simulated target cannot be made.

use drivescope_model::shortened::{shortened, shortened_path};
use std::io::ErrorKind;
use std::path::PathBuf;

/// Why a simulated target cannot be made, in one line.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// No such model.
    #[error("no model '{}'{}; drivescope sim list shows them", shortened(name), hint(.nearest.as_deref()))]
    UnknownModel {
        /// What was asked.
        name: String,
        /// The closest name, if one is close.
        nearest: Option<String>,
    },
    /// The model's file cannot be read.
    #[error(
        "cannot read the model {}: {source}; {}",
        shortened_path(&path.to_string_lossy()),
        remedy(.source)
    )]
    Unreadable {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Anything wrong in the model or in what follows `?`.
    #[error("{0}")]
    Wrong(String),
}

fn remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::PermissionDenied => "make it readable for this user",
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::InvalidFilename => {
            "check the path, or name a built-in model (drivescope sim list shows them)"
        }
        _ => "name another file, or a built-in model (drivescope sim list shows them)",
    }
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(" (did you mean '{name}'?)")).unwrap_or_default()
}
