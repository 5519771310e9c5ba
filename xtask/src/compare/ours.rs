//! drivescope's side of a pair.

use super::CellFigures;
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
    ) -> Result<CellFigures, String> {
        let metrics = self.metrics(target, cell, seconds, size_mib)?;
        let value = |quantity| value(&metrics, cell, quantity);
        Ok(CellFigures {
            mb_s: value("mb_s")?,
            iops: value("iops")?,
            lat_p50_us: value("lat_p50_us")?,
            lat_p99_us: value("lat_p99_us")?,
            user_ns: value("cpu_user_ns_per_io")?,
            sys_ns: value("cpu_sys_ns_per_io")?,
        })
    }

    /// Median latency of one round of one cell on a simulated drive, which takes no processor time.
    pub fn simulated_p50_us(&self, model: &str, cell: &str, seconds: f64) -> Result<f64, String> {
        let target = format!("sim:{model}");
        value(&self.metrics(Path::new(&target), cell, seconds, 0)?, cell, "lat_p50_us")
    }

    fn metrics(
        &self,
        target: &Path,
        cell: &str,
        seconds: f64,
        size_mib: u64,
    ) -> Result<Vec<Value>, String> {
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
        Ok(run["tests"][0]["metrics"].as_array().cloned().unwrap_or_default())
    }
}

fn value(metrics: &[Value], cell: &str, quantity: &str) -> Result<f64, String> {
    let key = format!("transfer.{cell}.{quantity}");
    let found = metrics.iter().find(|metric| metric["key"] == key.as_str());
    found.and_then(|metric| metric["value"].as_f64()).ok_or(format!("no metric {key}"))
}
