use super::*;
use crate::own_folder::tests::{killed, scratch};
use crate::own_folder::{clean, clean_for, look};
use std::os::unix::fs::symlink;

/// A folder with a tree of three levels in which files lie.
fn with_tree(parent: &Path) -> OwnFolder {
    let mut folder = OwnFolder::create(parent, "tree").unwrap();
    let mut here = folder.create_tree("files").unwrap();
    for name in [c"one", c"two", c"three"] {
        let file = here.create_file(c"data").unwrap();
        file.write_at(&[1; 5000], 0).unwrap();
        here = here.create_folder(name).unwrap();
    }
    folder
}

#[test]
fn removing_a_tree_keeps_link_targets() {
    let parent = scratch();
    let precious = parent.path().join("precious");
    std::fs::create_dir(&precious).unwrap();
    std::fs::write(precious.join("keep"), "keep").unwrap();
    let mut folder = with_tree(parent.path());
    let tree = folder.path().join("files/one");
    symlink(&precious, tree.join("out")).unwrap();
    symlink("..", tree.join("up")).unwrap();
    std::fs::hard_link(precious.join("keep"), tree.join("other-name")).unwrap();
    folder.remove_tree("files").unwrap();
    assert!(!folder.has_tree("files") && !folder.path().join("files").exists());
    folder.remove().unwrap();
    assert_eq!(std::fs::read_to_string(precious.join("keep")).unwrap(), "keep");
}

#[test]
fn killed_runs_tree_is_removed_with_its_folder() {
    let parent = scratch();
    killed(with_tree(parent.path()));
    assert_eq!(look(parent.path()).unwrap().removed.len(), 1);
    assert_eq!(clean_for(parent.path(), true).unwrap().spared.len(), 1, "it may be continued");
    assert_eq!(clean_for(parent.path(), false).unwrap().removed.len(), 1);
    assert_eq!(std::fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn kept_trees_stay_until_cleaned_or_adopted() {
    let parent = scratch();
    let mut folder = with_tree(parent.path());
    folder.create_file("data", Bytes::mib(1)).unwrap();
    folder.keep_trees().unwrap();
    let path = folder.path().to_path_buf();
    folder.remove().unwrap();
    assert!(path.join("files/one/data").exists() && !path.join("data").exists());
    assert_eq!(clean_for(parent.path(), false).unwrap().spared, std::slice::from_ref(&path));
    let adopted = OwnFolder::adopt(parent.path(), "files").unwrap().unwrap();
    assert_eq!(adopted.path(), path);
    assert!(OwnFolder::adopt(parent.path(), "files").unwrap().is_none(), "in use");
    assert_eq!(adopted.open_tree("files").unwrap().file_names().unwrap(), [c"data".to_owned()]);
    adopted.remove().unwrap();
    assert!(path.exists(), "still kept");
    assert_eq!(clean(parent.path()).unwrap().removed.len(), 1);
    assert!(OwnFolder::adopt(parent.path(), "files").unwrap().is_none());
}
