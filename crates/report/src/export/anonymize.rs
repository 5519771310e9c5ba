//! Runs without what identifies a person or a specimen: serial numbers, names of machines, paths, labels.

use drivescope_model::Run;
use serde_json::Value;

const REMOVED: &str = "removed";
/// Shorter names are too often ordinary words: `sda`, `vm`.
const NAME_MIN: usize = 4;

/// The run without serial numbers and world-wide names, the machine's name, paths, label, note and the command line,
/// wherever they stand. Kernel names of devices (`/dev/sda`) and the drive's model stay.
pub fn anonymized(run: &Run) -> Run {
    let mut bare = run.clone();
    (bare.label, bare.note) = (None, None);
    bare.tool.command_line.clear();
    let mut names = vec![std::mem::take(&mut bare.host.name)];
    if let Some(drive) = &mut bare.drive {
        names.extend(drive.serial.take().into_iter().chain(drive.wwn.take()));
        names.extend(drive.mounts.iter().cloned());
        names
            .extend(drive.partitions.iter().flat_map(|partition| partition.mounts.iter().cloned()));
    }
    names.extend(bare.plan.own_folder.clone());
    names.extend(Some(bare.target.path.clone()).filter(|path| !path.starts_with("/dev/")));
    names.retain(|name| name.trim().len() >= NAME_MIN);
    // The longest first: one may be a part of another. Paths without a name go last.
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.push(String::new());
    names.iter().fold(bare, |run, name| {
        let mut document = run.to_value();
        clear(&mut document, name.trim());
        // A machine named like a word of the format keeps its name in that word.
        Run::from_value(&document).unwrap_or(run)
    })
}

/// Clears `name` from all texts; an empty name clears paths. Keys belong to the format and stay.
fn clear(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if name.is_empty() => *text = without_paths(text),
        Value::String(text) => *text = text.replace(name, REMOVED),
        Value::Array(all) => all.iter_mut().for_each(|value| clear(value, name)),
        Value::Object(all) => all.values_mut().for_each(|value| clear(value, name)),
        _ => {}
    }
}

/// Paths of devices stay.
fn without_paths(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = path_in(rest) {
        let path = &rest[begin..];
        let end = path.find(ends_path).unwrap_or(path.len());
        out.push_str(&rest[..begin]);
        match path[..end].strip_prefix("/dev/") {
            Some(name) if !name.contains('/') => out.push_str(&path[..end]),
            _ => {
                out.push('/');
                out.push_str(REMOVED);
            }
        }
        rest = &path[end..];
    }
    out + rest
}

/// Start of a path: a slash before a name, not after a letter or digit as in `MB/s`.
fn path_in(text: &str) -> Option<usize> {
    let follows_word = |at: usize| {
        text[..at]
            .chars()
            .next_back()
            .is_some_and(|before| before.is_alphanumeric() || before == '/')
    };
    let is_path = |at: usize| {
        let next = text[at + 1..].chars().next();
        next.is_some_and(|next| next.is_alphanumeric() || matches!(next, '.' | '_' | '-'))
    };
    text.match_indices('/').map(|(at, _)| at).find(|at| !follows_word(*at) && is_path(*at))
}

fn ends_path(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\'' | '"' | ',' | ';' | ':' | ')' | '`')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hard_disk;

    #[test]
    fn no_name_and_no_path_is_left_anywhere() {
        let mut run = hard_disk();
        run.host.name = "annas-laptop".to_string();
        run.label = Some("Anna's disk".to_string());
        run.target.path = "/home/anna/data".to_string();
        run.plan.own_folder = Some("/home/anna/data/.drivescope-1".to_string());
        run.tool.command_line = vec!["drivescope".into(), "/home/anna/data".into()];
        run.findings[0].evidence =
            "'/home/anna/x y' on annas-laptop, SECRET-1 read 5 MB/s".to_string();
        let drive = run.drive.as_mut().unwrap();
        drive.serial = Some("SECRET-1".to_string());
        drive.path = "/dev/disk/by-id/ata-SECRET-1".to_string();
        drive.mounts = vec!["/home/anna".to_string()];
        let bare = anonymized(&run);
        let text = serde_json::to_string(&bare).unwrap();
        for secret in ["anna", "Anna", "SECRET", "/home"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        assert!(text.contains("read 5 MB/s"));
        assert_eq!(bare.tests, run.tests, "figures stay");
        assert_eq!(bare.drive.unwrap().model, run.drive.unwrap().model);
    }

    #[test]
    fn machine_named_like_a_format_word_is_anonymized() {
        let mut run = hard_disk();
        run.host.name = "transfer".to_string();
        run.target.path = "/home/anna".to_string();
        let bare = anonymized(&run);
        assert_eq!((bare.host.name.as_str(), bare.target.path.as_str()), ("", "removed"));
    }

    #[test]
    fn rates_and_devices_are_not_paths() {
        for (text, left) in [
            ("181 MB/s, 1/s", "181 MB/s, 1/s"),
            ("/dev/sda1 is mounted at /mnt/a: busy", "/dev/sda1 is mounted at /removed: busy"),
            ("read / write", "read / write"),
            ("sim:/tmp/x.toml", "sim:/removed"),
        ] {
            assert_eq!(without_paths(text), left);
        }
    }
}
