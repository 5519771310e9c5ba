//! A drive's own test of itself, started and ended through smartctl. It changes no data: the drive reads its surface
//! and writes the result into its own log.

use super::Target;
use drivescope_machine::list::{SelfTestStatus, output_of, self_tests_of, smartctl_program};
use drivescope_model::health::SelfTest;
use drivescope_model::options::SelfTestLength;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Bits of smartctl's exit code for a wrong call, a drive that cannot be opened, and a command that failed.
const FAILED_BITS: u64 = 0b111;

/// Why a drive was not ordered to test itself, in a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SelfTestRefused(String);

impl Target {
    /// The self-tests of the drive below now. Errors: why nothing is known of them.
    pub fn self_tests(&self) -> Result<SelfTestStatus, String> {
        match self.drive() {
            Some(drive) => self_tests_of(&self.roots, drive),
            None => Err("no drive is known below this target".to_string()),
        }
    }

    /// Lets the drive begin to test itself.
    /// Errors: smartctl or the drive refuses.
    pub fn start_self_test(&self, length: SelfTestLength) -> Result<(), SelfTestRefused> {
        let kind = match length {
            SelfTestLength::Short => "short",
            SelfTestLength::Long => "long",
        };
        self.order(&["-t", kind])
    }

    /// Ends the test that the drive is making.
    /// Errors: smartctl or the drive refuses.
    pub fn abort_self_test(&self) -> Result<(), SelfTestRefused> {
        self.order(&["-X"])
    }

    fn order(&self, words: &[&str]) -> Result<(), SelfTestRefused> {
        fn refused(why: &str) -> SelfTestRefused {
            SelfTestRefused(why.to_string())
        }
        let drive = self.drive().ok_or_else(|| refused("no drive is known below this target"))?;
        let program = smartctl_program()
            .ok_or_else(|| refused("smartctl is not installed; install smartmontools"))?;
        ordered(Command::new(program), words, &self.roots.node(&drive.name))
    }

    /// What a simulated drive finds when it tests itself: as its `smart=` files say, else the first byte that it
    /// cannot read. `None` of a real drive.
    pub fn simulated_self_test(&self, length: SelfTestLength) -> Option<SelfTest> {
        let (spec, _) = self.simulated.as_ref()?;
        if let Some(smart) = &spec.smart
            && let [newest, ..] = smart.after.self_tests.as_slice()
            && smart.before.self_tests.first() != Some(newest)
        {
            return Some(newest.clone());
        }
        let sector_bytes = u64::from(spec.model.shown().reported_logical_sector_bytes);
        let unreadable = spec.start.planted.first_unreadable(self.info().size_bytes);
        Some(SelfTest {
            kind: match length {
                SelfTestLength::Short => "Short offline",
                SelfTestLength::Long => "Extended offline",
            }
            .to_string(),
            result: match unreadable {
                Some(_) => "Completed: read failure",
                None => "Completed without error",
            }
            .to_string(),
            passed: Some(unreadable.is_none()),
            power_on_hours: None,
            first_bad_sector: unreadable.map(|byte| byte / sector_bytes),
        })
    }
}

fn ordered(mut smartctl: Command, words: &[&str], node: &Path) -> Result<(), SelfTestRefused> {
    smartctl.arg("--json=c").args(words).arg(node);
    let output = output_of(smartctl).map_err(|why| SelfTestRefused(format!("smartctl {why}")))?;
    let json: Value = serde_json::from_slice(&output).map_err(|_| {
        SelfTestRefused("smartctl is too old; install smartmontools 7.3 or later".to_string())
    })?;
    let failed = json["smartctl"]["exit_status"].as_u64().is_some_and(|it| it & FAILED_BITS != 0);
    if failed { Err(SelfTestRefused(why_not(&json))) } else { Ok(()) }
}

fn why_not(json: &Value) -> String {
    let messages = json["smartctl"]["messages"].as_array().into_iter().flatten();
    let words: Vec<&str> = messages.filter_map(|it| it["string"].as_str()).collect();
    if words.is_empty() {
        "the drive refuses to test itself".to_string()
    } else {
        words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_of_smartctl_are_told_in_its_words() {
        fn order(script: &str) -> Result<(), String> {
            let mut shell = Command::new("sh");
            shell.args(["-c", script, "smartctl"]);
            ordered(shell, &["-t", "short"], Path::new("/dev/sda")).map_err(|it| it.to_string())
        }
        let begun =
            r#"test "$*" = "--json=c -t short /dev/sda" && echo '{"smartctl":{"exit_status":0}}'"#;
        assert_eq!(order(begun), Ok(()));
        // The drive's health is bad: the test begins all the same.
        assert_eq!(order(r#"echo '{"smartctl":{"exit_status":8}}'; exit 8"#), Ok(()));
        let denied = r#"echo '{"smartctl":{"exit_status":2,"messages":[{"string":"Smartctl open device:
            /dev/sda failed: Permission denied","severity":"error"}]}}' | tr '\n' ' '; exit 2"#;
        let denied = order(denied).unwrap_err();
        assert_eq!(denied, "Smartctl open device: /dev/sda failed: Permission denied");
        let silent = order(r#"echo '{"smartctl":{"exit_status":4}}'"#).unwrap_err();
        assert_eq!(silent, "the drive refuses to test itself");
        let old = order("echo smartctl 5.43").unwrap_err();
        assert!(old.contains("7.3 or later"), "{old}");
    }
}
