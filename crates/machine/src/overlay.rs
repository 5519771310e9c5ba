//! Overlays: which of their layers has the data that a path shows.

use crate::filesystem::FsClass;
use crate::mounts::{Mount, mount_at};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The layers of an overlay, as its mount names them. Those named from an unknown folder stay relative.
pub(crate) struct Layers {
    /// What is written goes there; `None` for an overlay that is only read.
    pub upper: Option<PathBuf>,
    /// From the top.
    pub lower: Vec<PathBuf>,
}

impl Layers {
    pub fn of(mount: &Mount) -> Self {
        let upper = mount.option("upperdir").map(PathBuf::from);
        let base = upper.as_deref().and_then(|upper| base(mount, upper)).unwrap_or(Path::new(""));
        let joined = mount.options_named("lowerdir").into_iter().flat_map(|dirs| split(&dirs));
        let lower = joined.chain(mount.options_named("lowerdir+"));
        Self {
            lower: lower.map(|dir| base.join(dir)).collect(),
            upper: upper.as_ref().map(|upper| base.join(upper)),
        }
    }

    /// Where new files in the directory `path` of the overlay at `mount`, or the data of the file `path`, lie.
    /// `None` where a layer that may have them cannot be seen.
    pub fn holding(&self, mount: &Mount, path: &Path, is_directory: bool) -> Option<PathBuf> {
        if is_directory {
            return self.upper.clone().filter(|upper| is_seen(upper));
        }
        let root = mount.root.strip_prefix("/").ok()?;
        let within = root.join(path.strip_prefix(&mount.mount_point).ok()?);
        for layer in self.upper.iter().chain(&self.lower) {
            let file = layer.join(&within);
            if !is_seen(layer) {
                return None;
            }
            if file.try_exists().ok()? {
                return Some(file);
            }
        }
        None
    }
}

/// The file in the layers below that a path on an overlay shows, where they can be seen; none for other paths.
pub(crate) fn file_in_layer(table: &[Mount], path: &Path) -> Option<PathBuf> {
    let mut file = path.to_path_buf();
    // Each step leads to another mount.
    for _ in 0..table.len() {
        let mount = mount_at(table, &file)?;
        if FsClass::of(&mount.kind) != FsClass::Overlay {
            break;
        }
        file = Layers::of(mount).holding(mount, &file, false)?;
    }
    (file != path).then_some(file)
}

/// Whether a layer is here. A container's overlay names directories of the host, which are not; one that may not
/// be looked at may be.
pub(crate) fn is_seen(layer: &Path) -> bool {
    layer.is_absolute() && !matches!(layer.try_exists(), Ok(false))
}

/// The folder from which relative layers were named: of those above the mount point, the one that has the upper
/// layer, which the overlay shows with its inode number.
fn base<'m>(mount: &'m Mount, upper: &Path) -> Option<&'m Path> {
    let shown = fs::metadata(&mount.mount_point).ok()?.ino();
    let is_upper = |meta: fs::Metadata| meta.is_dir() && meta.ino() == shown;
    let mut above = mount.mount_point.ancestors().skip(1).filter(|_| upper.is_relative());
    above.find(|folder| fs::metadata(folder.join(upper)).is_ok_and(is_upper))
}

/// Directories joined with colons, of which those in a name are escaped with a backslash.
fn split(dirs: &str) -> Vec<String> {
    let mut layers = vec![String::new()];
    let mut chars = dirs.chars();
    while let Some(c) = chars.next() {
        let last = layers.last_mut().expect("starts with one and only grows");
        match c {
            ':' => layers.push(String::new()),
            '\\' => last.extend(chars.next()),
            _ => last.push(c),
        }
    }
    layers.retain(|layer| !layer.is_empty());
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mounts::parse;
    use crate::roots::fake::Fake;

    #[test]
    fn layers_are_split_at_unescaped_colons() {
        assert_eq!(split(r"/a:/b\:c::/d"), ["/a", "/b:c", "/d"]);
        assert_eq!(split(""), Vec::<String>::new());
    }

    #[test]
    fn relative_layers_are_found_beside_the_overlay() {
        let fake = Fake::new();
        fs::create_dir(fake.path("up")).unwrap();
        fs::create_dir(fake.path("other")).unwrap();
        // What an overlay shows has the inode number of its upper layer, as a link to it has.
        std::os::unix::fs::symlink("up", fake.path("merged")).unwrap();
        let of = |upper: &str| {
            let point = fake.path("merged");
            let line = format!(
                "2 1 0:50 / {} rw - overlay overlay rw,lowerdir=low,upperdir={upper}",
                point.display()
            );
            Layers::of(&parse(line.as_bytes())[0])
        };
        let found = of("up");
        assert_eq!(found.upper, Some(fake.path("up")));
        assert_eq!(found.lower, [fake.path("low")]);
        for unknown in ["other", "absent"] {
            assert_eq!(of(unknown).upper, Some(PathBuf::from(unknown)));
            assert_eq!(of(unknown).lower, [Path::new("low")]);
        }
    }
}
