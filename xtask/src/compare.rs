//! Comparisons with peers, in alternating pairs on the same target.

/// Runs the comparison that `args` name.
pub fn run(_args: &[String]) -> Result<(), String> {
    Err("not built yet".to_string())
}
