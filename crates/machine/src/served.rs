//! How the mount table shows that a file is a simulated drive, so that results measured on it, or on a
//! block device on it, can say so.

use crate::mounts::Mount;

/// The mount table names served drives so; their model's name follows.
pub const MARK: &str = "drivescope-sim";

/// The mount table's name for a drive of this model: `drivescope-sim:wd40efrx`.
pub fn source_of(model: &str) -> String {
    // A comma would end the mount option, and the table is read by programs that expect plain names.
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-/".contains(c) { c } else { '_' };
    format!("{MARK}:{}", model.chars().map(plain).collect::<String>())
}

/// Name of the model that is served at this mount.
pub fn served_model(mount: &Mount) -> Option<&str> {
    let name = mount.source.strip_prefix(MARK)?.strip_prefix(':')?;
    (mount.kind == "fuse").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_drive_is_distinguished_from_other_mounts() {
        fn model(kind: &str, source: &str) -> Option<String> {
            let line = format!("1 0 0:50 / /mnt rw - {kind} {source} rw");
            served_model(&crate::mounts::parse(line.as_bytes())[0]).map(str::to_string)
        }
        assert_eq!(model("fuse", &source_of("wd40efrx")).as_deref(), Some("wd40efrx"));
        assert_eq!(model("fuse", &source_of("./my, drive")).as_deref(), Some("./my__drive"));
        for (kind, source) in
            [("fuse", "drivescope-simulation"), ("ext4", "drivescope-sim:x"), ("fuse", "sshfs")]
        {
            assert_eq!(model(kind, source), None, "{kind} {source}");
        }
    }
}
