//! drivescope's side of a pair.

use super::{CellFigures, Measurement, samples};
use crate::workspace;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The release binary.
pub struct Drivescope(PathBuf);

impl Drivescope {
    /// Builds the program of the workspace.
    pub fn build() -> Result<Self, String> {
        let root = workspace::root();
        let mut cargo = Command::new("cargo");
        cargo.args(["build", "--release", "--package", "drivescope"]).current_dir(root);
        let status = cargo.status().map_err(|e| format!("cannot start cargo: {e}"))?;
        if !status.success() {
            return Err("the release build failed".to_string());
        }
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        Ok(Self(target.unwrap_or_else(|| root.join("target")).join("release/drivescope")))
    }

    /// A binary from elsewhere. Errors: there is none.
    pub fn at(path: &Path) -> Result<Self, String> {
        // It is called in other folders, too.
        let found = std::fs::canonicalize(path);
        found.map(Self).map_err(|error| format!("{}: {error}", path.display()))
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
        let each = Measurement::of(seconds);
        let args = arguments(target, cell, each, size_mib, &["--engine", "uring"]);
        figures(&self.test(&args)?, cell)
    }

    /// Figures with the engine that it chooses, and that engine; on demand, with user CPU by samples.
    pub fn measure_with_its_choice(
        &self,
        target: &Path,
        cell: &str,
        size_mib: u64,
        each: Measurement,
    ) -> Result<(CellFigures, String), String> {
        let args = arguments(target, cell, each, size_mib, &[]);
        let (test, user_ns_per_s) = if each.sampled {
            let (output, user_ns_per_s) = samples::run(&self.0, &args, each)?;
            (test(&output)?, Some(user_ns_per_s))
        } else {
            (self.test(&args)?, None)
        };
        let engine = test["phases"][0]["engine"].as_str().unwrap_or("?").to_string();
        Ok((figures(&test, cell)?.with_user_cpu(user_ns_per_s), engine))
    }

    /// Median latency of one round of one cell on a simulated drive, which takes no processor time.
    pub fn simulated_p50_us(&self, model: &str, cell: &str, seconds: f64) -> Result<f64, String> {
        let target = format!("sim:{model}");
        let args = arguments(Path::new(&target), cell, Measurement::of(seconds), 0, &[]);
        value(&self.test(&args)?, cell, "lat_p50_us")
    }

    /// The test's part of the document.
    fn test(&self, args: &[String]) -> Result<Value, String> {
        let output = Command::new(&self.0).args(args).output();
        test(&output.map_err(|e| format!("cannot start drivescope: {e}"))?)
    }
}

/// Measures one round of one cell.
fn arguments(
    target: &Path,
    cell: &str,
    each: Measurement,
    size_mib: u64,
    options: &[&str],
) -> Vec<String> {
    let target = target.display().to_string();
    let (time, size) = (format!("{}s", each.seconds), format!("{size_mib}MiB"));
    let ramp = format!("transfer.ramp={}s", each.ramp_s);
    let mut args = vec!["run", &target, "--test", "transfer", "--rounds", "1", "--json"];
    args.extend(["--no-save", "--quiet", "--set", &ramp, "--cells", cell]);
    args.extend(["--time", &time]);
    args.extend(options);
    if size_mib > 0 {
        args.extend(["--size", &size]);
    }
    args.into_iter().map(str::to_string).collect()
}

/// The test's part of the document that was printed.
fn test(output: &Output) -> Result<Value, String> {
    let run: Value = serde_json::from_slice(&output.stdout).map_err(|e| {
        format!("drivescope gave no document: {e}: {}", String::from_utf8_lossy(&output.stderr))
    })?;
    Ok(run["tests"][0].clone())
}

fn figures(test: &Value, cell: &str) -> Result<CellFigures, String> {
    let value = |quantity| value(test, cell, quantity);
    Ok(CellFigures {
        mb_s: value("mb_s")?,
        iops: value("iops")?,
        lat_p50_us: value("lat_p50_us")?,
        lat_p99_us: value("lat_p99_us")?,
        user_ns: value("cpu_user_ns_per_io")?,
        sys_ns: value("cpu_sys_ns_per_io")?,
    })
}

fn value(test: &Value, cell: &str, quantity: &str) -> Result<f64, String> {
    let key = format!("transfer.{cell}.{quantity}");
    metric(test, &key).ok_or(format!("no metric {key}"))
}

/// The value of a metric of a test.
pub fn metric(test: &Value, key: &str) -> Option<f64> {
    let found = test["metrics"].as_array()?.iter().find(|metric| metric["key"] == key)?;
    found["value"].as_f64()
}
