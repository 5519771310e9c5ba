//! Making outputs comparable: what differs from machine to machine is replaced by a word.

use super::Scratch;

pub fn without_paths(scratch: &Scratch, text: &str) -> String {
    let folder = scratch.path("");
    let folder = folder.to_string_lossy();
    text.replace(folder.trim_end_matches('/'), "SCRATCH")
}
