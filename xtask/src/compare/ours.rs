//! drivescope's side of a pair.

use super::Figures;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release binary.
pub struct Drivescope(PathBuf);

impl Drivescope {
    /// In the target folder of the workspace at `root`.
    pub fn new(root: &Path) -> Self {
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        Self(target.unwrap_or_else(|| root.join("target")).join("release/drivescope"))
    }

    /// The binary.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// One round of one cell; `size_mib` is the size of the test file in a folder.
    pub fn measure(
        &self,
        target: &Path,
        cell: &str,
        seconds: f64,
        size_mib: u64,
    ) -> Result<Figures, String> {
        let mut command = Command::new(&self.0);
        command.arg("run").arg(target).args(["--test", "transfer", "--rounds", "1"]);
        command.args(["--engine", "uring", "--json", "--no-save", "--quiet"]);
        command.args(["--set", "transfer.ramp=0", "--cells", cell]);
        command.args(["--time", &format!("{seconds}s")]);
        if size_mib > 0 {
            command.args(["--size", &format!("{size_mib}MiB")]);
        }
        let output = command.output().map_err(|e| format!("cannot start drivescope: {e}"))?;
        let run: Value = serde_json::from_slice(&output.stdout).map_err(|e| {
            format!("drivescope gave no document: {e}: {}", String::from_utf8_lossy(&output.stderr))
        })?;
        let metrics = run["tests"][0]["metrics"].as_array().cloned().unwrap_or_default();
        let value = |quantity: &str| {
            let key = format!("transfer.{cell}.{quantity}");
            let found = metrics.iter().find(|metric| metric["key"] == key.as_str());
            found.and_then(|metric| metric["value"].as_f64()).ok_or(format!("no metric {key}"))
        };
        Ok(Figures {
            mb_s: value("mb_s")?,
            iops: value("iops")?,
            lat_p50_us: value("lat_p50_us")?,
            lat_p99_us: value("lat_p99_us")?,
            user_ns: value("cpu_user_ns_per_io")?,
            sys_ns: value("cpu_sys_ns_per_io")?,
        })
    }
}
