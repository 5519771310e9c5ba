//! `cargo xtask` from the command line.

use std::process::Command;

#[test]
fn unknown_command_lists_known_ones() {
    let called = Command::new(env!("CARGO_BIN_EXE_xtask")).arg("labb").output().unwrap();
    let said = String::from_utf8(called.stderr).unwrap();
    assert_eq!(called.status.code(), Some(1), "{said}");
    assert!(said.contains("lab") && said.contains("docs"), "{said}");
}
