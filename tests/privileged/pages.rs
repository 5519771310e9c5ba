//! Examples of pages that need root: fenced blocks of `root`, whose first command serves a simulated drive. Its block
//! device is `$DRIVE` for the others.

use super::guards::tool;
use super::served::{Served, scratch_to_serve};
use crate::pages::{PAGES, blocks};

/// Takes away what a page has mounted in `fs` and not unmounted, because an example before failed.
struct Unmount(String);

impl Drop for Unmount {
    fn drop(&mut self) {
        // Nothing is mounted there where all went well.
        let _ = tool("umount", &[&self.0]);
    }
}

#[test]
fn examples_on_served_drives_print_what_pages_show() {
    let all = PAGES.iter().flat_map(|(name, page)| {
        blocks(page, &["root"]).into_iter().map(move |block| (*name, block))
    });
    let all: Vec<_> = all.collect();
    assert!(!all.is_empty(), "no page has an example for root");
    for (name, block) in all {
        let Some(scratch) = scratch_to_serve(true) else { return };
        let (first, others) = block.split_first().expect("blocks without commands are left out");
        let options = first.command.strip_prefix("drivescope sim mount ");
        let options = options.and_then(|it| it.strip_suffix(" &")).expect("it serves a drive");
        let options: Vec<&str> = options.split(' ').map(|it| it.trim_matches('\'')).collect();
        let served = Served::start(&scratch, &options);
        let node = served.node();
        let mounted = Unmount(scratch.text("fs"));
        others.iter().for_each(|shown| shown.check(name, &scratch, &[("DRIVE", &node)]));
        drop(mounted);
        served.interrupt().end().code(0);
    }
}
