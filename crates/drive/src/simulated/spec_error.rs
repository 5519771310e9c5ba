//! Why a simulated target cannot be made.

use drivescope_model::shortened::{shortened, shortened_path};
use std::io::ErrorKind;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    #[error("no model '{}'{}; drivescope sim list shows them", shortened(name), hint(.nearest.as_deref()))]
    UnknownModel {
        name: String,
        /// If one is close.
        nearest: Option<String>,
    },
    #[error(
        "cannot read the model {}: {source}; {}",
        shortened_path(&path.to_string_lossy()),
        remedy(.source)
    )]
    Unreadable { path: PathBuf, source: std::io::Error },
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
