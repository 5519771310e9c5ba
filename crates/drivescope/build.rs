//! Tells the program the commit that it is built from, where there is a repository.

use std::process::Command;

fn main() {
    // A line is added to this file with each commit and each change of branch.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
    println!("cargo::rerun-if-changed={}", log.as_deref().unwrap_or("build.rs"));
    if let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) {
        println!("cargo::rustc-env=DRIVESCOPE_COMMIT={commit}");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
