//! A machine with the running system on `sda` and a blank disk, `sdb` unless another kind is asked for.

use super::kinds::{Kind, SDB};
use crate::gate::identify_command::IdentifyCommand;
use crate::gate::kernel_calls::{Access, DescriptorFacts, DeviceNode, KernelCalls};
use crate::gate::{
    Confirmation, Examination, GateRequest, OwnPaths, RawDisk, Refusal, claim_with, examine_with,
    restore_claim,
};
use drivescope_machine::roots::fake::Fake;
use drivescope_model::WriteLevel;
use drivescope_model::gate::{Check, GateRecord, Outcome};
use rustix::io::Errno;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

pub const SIZE: u64 = 80 << 20;
/// Where `sdb1` begins when a test asks for it, and how long it is.
pub const PART: (u64, u64) = (1 << 20, 72 << 20);
pub const SERIAL: &str = "WD-WCAV5E123456";
/// Model of `sdb`, also in its own answer.
pub const MODEL: &str = "WDC WD10EARS-00Y5B1";
pub const LEVELS: [WriteLevel; 3] =
    [WriteLevel::SameBytes, WriteLevel::Restore, WriteLevel::Destroy];
pub const OVERWRITING: [WriteLevel; 2] = [WriteLevel::Restore, WriteLevel::Destroy];

#[derive(Debug, Clone)]
pub struct Node {
    pub facts: DescriptorFacts,
    pub image: PathBuf,
    /// Where those are that an exclusive open leads to, if elsewhere.
    pub claimed: Option<PathBuf>,
    /// The file of its own bytes, even when `image` is changed.
    inode: u64,
    /// Errors of these calls.
    pub open: Option<Errno>,
    /// For `busy_for` waits, or for ever.
    pub exclusive: Option<Errno>,
    pub busy_for: Option<u32>,
    pub write: Option<Errno>,
    pub lock: Option<Errno>,
    pub answer: Result<Vec<u8>, Errno>,
}

#[derive(Debug, Default)]
pub struct FakeKernel {
    nodes: Mutex<HashMap<PathBuf, Node>>,
    /// Where a path leads: the first entry now, the others at later calls; the last one stays.
    links: Mutex<HashMap<PathBuf, Vec<PathBuf>>>,
    pub opened: Mutex<Vec<Access>>,
    /// What was opened for reading, each with whether `watched` was there.
    pub read: Mutex<Vec<(PathBuf, bool)>>,
    pub watched: Mutex<PathBuf>,
    pub discarded: Mutex<Vec<Range<u64>>>,
}

impl FakeKernel {
    /// The device whose own image this is; another one may be made to open it instead.
    fn by_file(&self, file: &File) -> Option<Node> {
        let inode = file.metadata().unwrap().ino();
        let nodes = self.nodes.lock().unwrap();
        nodes.values().find(|node| node.inode == inode).cloned()
    }

    fn node(&self, path: &Path) -> Result<Node, Errno> {
        self.nodes.lock().unwrap().get(path).cloned().ok_or(Errno::NOENT)
    }
}

impl KernelCalls for Arc<FakeKernel> {
    fn resolve(&self, path: &Path) -> Result<DeviceNode, Errno> {
        let mut links = self.links.lock().unwrap();
        let node = match links.get_mut(path) {
            Some(ways) if ways.len() > 1 => ways.remove(0),
            Some(ways) => ways[0].clone(),
            None => path.to_path_buf(),
        };
        let number = self.node(&node)?.facts.number;
        Ok(DeviceNode { node, number })
    }

    fn open(&self, node: &Path, access: Access) -> Result<File, Errno> {
        self.opened.lock().unwrap().push(access);
        if access == Access::Read {
            let is_there = self.watched.lock().unwrap().exists();
            self.read.lock().unwrap().push((node.to_path_buf(), is_there));
        }
        let node = self.node(node)?;
        let refusals = match access {
            Access::Read => [node.open, None, None],
            Access::ReadExclusive => [node.open, node.exclusive, None],
            Access::WriteExclusive | Access::WriteUnseen => [node.open, node.exclusive, node.write],
        };
        match refusals.into_iter().flatten().next() {
            Some(errno) => Err(errno),
            None => {
                let writes = access.writes();
                let image = node.claimed.filter(|_| access != Access::Read).unwrap_or(node.image);
                Ok(OpenOptions::new().read(true).write(writes).open(image).unwrap())
            }
        }
    }

    fn facts(&self, file: &File) -> Result<DescriptorFacts, Errno> {
        self.by_file(file).map(|node| node.facts).ok_or(Errno::NODEV)
    }

    fn identify(&self, file: &File, _: IdentifyCommand) -> Result<Vec<u8>, Errno> {
        self.by_file(file).map_or(Err(Errno::NODEV), |node| node.answer)
    }

    fn discard(&self, file: &File, bytes: Range<u64>) -> Result<(), Errno> {
        self.by_file(file).ok_or(Errno::NODEV)?;
        self.discarded.lock().unwrap().push(bytes);
        Ok(())
    }

    fn wait(&self) {
        for node in self.nodes.lock().unwrap().values_mut() {
            node.busy_for = node.busy_for.map(|waits| waits.saturating_sub(1));
            if node.busy_for == Some(0) {
                node.exclusive = None;
            }
        }
    }

    fn lock(&self, file: &File) -> Result<(), Errno> {
        self.by_file(file).and_then(|node| node.lock).map_or(Ok(()), Err)
    }
}

pub struct Machine {
    pub fake: Fake,
    pub kernel: Arc<FakeKernel>,
    pub own: OwnPaths,
    images: Mutex<HashMap<String, File>>,
    pub target: &'static str,
    pub kind: Kind,
}

impl Machine {
    pub fn new() -> Self {
        Self::of(&SDB)
    }

    /// Three disks, `sda` with the running system and two that are blank; the store and the journal on `/`.
    pub(super) fn without_target(kind: Kind) -> Self {
        let mut machine = Self {
            fake: Fake::new(),
            kernel: Arc::default(),
            own: OwnPaths::default(),
            images: Mutex::default(),
            target: kind.disk,
            kind,
        };
        machine.disk("sda", (8, 0), 1 << 30);
        machine.part("sda", 1, (8, 1), (1 << 20, 256 << 20));
        machine.part("sda", 2, (8, 2), (512 << 20, 16 << 20));
        machine.disk("sdc", (8, 32), SIZE);
        machine.disk("sde", (8, 64), SIZE);
        machine.mounts(&[]);
        let fake = &machine.fake;
        fake.file("proc/1/mountinfo", "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n");
        fake.link("proc/self/ns/pid", "pid:[4026531836]");
        let home = fake.path("").canonicalize().unwrap();
        machine.own.store = Some(home.join("store/runs.db"));
        machine.own.journal = Some(home.join("journal"));
        machine
    }

    /// `sdb`, a drive that answers Identify.
    pub(super) fn sata_disk(&self) {
        self.disk("sdb", (8, 16), SIZE);
        self.tells("sdb", "ATA     ", MODEL, SERIAL);
        self.answers(MODEL, SERIAL);
    }

    /// Makes the kernel report these names of a SCSI disk.
    pub fn tells(&self, name: &str, vendor: &str, model: &str, serial: &str) {
        let attrs = [("device/vendor", vendor), ("device/model", model), ("device/serial", serial)];
        self.fake.attrs(name, &attrs);
    }

    /// `sdb` in a dock on USB, which reports its own names, whatever drive is in it.
    pub fn in_dock() -> Self {
        let machine = Self::without_target(SDB);
        let place = "pci0000:00/usb2/2-1/2-1:1.0/host6/6:0:0:0";
        machine.fake.scsi_disk(&format!("{place}/block/sdb"), (8, 16), SIZE);
        machine.node("sdb", (8, 16), SIZE);
        machine.tells("sdb", "Dock", "Station", SERIAL);
        machine
    }

    /// The same seen from a container: an overlay without the host's mounts, but with volumes for what the
    /// program keeps; no process of the host, and no database of udev. The kernel's claim, `/sys`,
    /// `/proc/swaps`, `/proc/fs` and `/proc/spl` know nothing of containers.
    pub fn in_container(self) -> Self {
        let proc = self.fake.roots.proc.clone();
        for process in drivescope_machine::processes::processes(&self.fake.roots) {
            std::fs::remove_dir_all(proc.join(process)).unwrap();
        }
        let _ = std::fs::remove_dir_all(&self.fake.roots.run);
        self.cover_mounts();
        std::fs::create_dir(proc.join("1")).unwrap();
        std::fs::copy(proc.join("self/mountinfo"), proc.join("1/mountinfo")).unwrap();
        std::fs::remove_file(proc.join("self/ns/pid")).unwrap();
        self.fake.link("proc/self/ns/pid", "pid:[4026532201]");
        self
    }

    /// The same seen from a container that shares the processes of the host.
    pub fn in_container_with_processes(self) -> Self {
        let tables = ["proc/1/mountinfo", "proc/self/mountinfo"]
            .map(|path| std::fs::read_to_string(self.fake.path(path)).unwrap());
        self.fake.file("proc/1/mountinfo", tables.concat());
        self.cover_mounts();
        self
    }

    /// Leaves only mounts of this program's own directories, on an overlay.
    fn cover_mounts(&self) {
        let table = std::fs::read_to_string(self.fake.path("proc/self/mountinfo")).unwrap();
        let home = self.fake.path("").canonicalize().unwrap().display().to_string();
        let mut lines = vec![
            "1 0 0:50 / / rw - overlay overlay rw,lowerdir=/var/gate-absent/l,upperdir=/var/gate-absent/u",
        ];
        lines.extend(table.lines().filter(|line| line.contains(&home)));
        self.fake.mounts(&lines);
    }

    pub fn mounts(&self, lines: &[&str]) {
        let root = "1 0 8:1 / / rw - ext4 /dev/sda1 rw";
        self.fake.mounts(&[&[root], lines].concat());
    }

    pub fn disk(&self, name: &str, number: (u32, u32), size: u64) {
        self.fake.scsi_disk(&format!("pci0000:00/host-{name}/1:0:0:0/block/{name}"), number, size);
        self.node(name, number, size);
    }

    pub fn disk_at(&self, place: &str, number: (u32, u32)) {
        self.fake.disk(place, number, SIZE);
        self.node(place.rsplit('/').next().unwrap(), number, SIZE);
    }

    pub fn part(&self, disk: &str, index: u32, number: (u32, u32), (start, size): (u64, u64)) {
        self.fake.partition(disk, index, number, start / 512, size / 512);
        let glue = if disk.ends_with(|c: char| c.is_ascii_digit()) { "p" } else { "" };
        self.node(&format!("{disk}{glue}{index}"), number, size);
    }

    /// `sdb1`, as a part of the disk's own bytes where contents are looked for.
    pub fn sdb1(&self) {
        self.part("sdb", 1, (8, 17), PART);
    }

    /// A device without hardware: device mapper, md, loop.
    pub fn upper(&self, name: &str, number: (u32, u32), below: &[&str], attrs: &[(&str, &str)]) {
        self.fake.upper(name, number, SIZE, below);
        for lower in below {
            let dir = self.fake.roots.block_dir(name).unwrap();
            self.fake.link(&format!("sys/class/block/{lower}/holders/{name}"), dir);
        }
        self.fake.attrs(name, attrs);
        self.node(name, number, SIZE);
    }

    fn node(&self, name: &str, number: (u32, u32), size: u64) {
        // In memory, where reading what was never written costs nothing.
        let memory = rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        let memory = File::from(memory);
        memory.set_len(size).unwrap();
        let image = PathBuf::from(format!("/proc/self/fd/{}", memory.as_raw_fd()));
        let inode = memory.metadata().unwrap().ino();
        self.images.lock().unwrap().insert(name.to_string(), memory);
        let facts = DescriptorFacts {
            number,
            size_bytes: size,
            logical_sector_bytes: 512,
            physical_sector_bytes: 4096,
            read_only: false,
            disk_sequence: None,
        };
        let node = Node {
            facts,
            image,
            claimed: None,
            inode,
            open: None,
            exclusive: None,
            busy_for: None,
            write: None,
            lock: None,
            answer: Err(Errno::NOTTY),
        };
        let mut nodes = self.kernel.nodes.lock().unwrap();
        nodes.insert(PathBuf::from("/dev").join(name), node.clone());
        // The gate names the disk of a partition by the tree's own directory of nodes.
        nodes.insert(self.fake.roots.node(name), node);
    }

    pub fn change(&self, name: &str, change: impl Fn(&mut Node)) {
        let mut nodes = self.kernel.nodes.lock().unwrap();
        for path in [PathBuf::from("/dev").join(name), self.fake.roots.node(name)] {
            change(nodes.get_mut(&path).unwrap());
        }
    }

    /// Makes `sdb` answer with these names.
    pub fn answers(&self, model: &str, serial: &str) {
        let page = drivescope_machine::ata_image::bytes(model, serial);
        self.change("sdb", |node| node.answer = Ok(page.clone()));
    }

    /// Takes the serial number of `sdb` away, and lets its drive answer no question.
    pub fn answer_nothing(&self) {
        self.fake.attrs("sdb", &[("device/serial", "")]);
        self.change("sdb", |node| node.answer = Err(Errno::NOTTY));
    }

    pub fn link(&self, path: &str, names: &[&str]) {
        let ways = names.iter().map(|name| PathBuf::from("/dev").join(name)).collect();
        self.kernel.links.lock().unwrap().insert(PathBuf::from(path), ways);
    }

    pub fn image(&self, name: &str) -> PathBuf {
        let images = self.images.lock().unwrap();
        PathBuf::from(format!("/proc/self/fd/{}", images[name].as_raw_fd()))
    }

    pub fn contents(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.image(name)).unwrap()
    }

    pub fn fill(&self, name: &str, seed: u64) {
        let bytes: Vec<u8> = (0..SIZE).map(|at| ((at / 64 + seed) % 251) as u8).collect();
        self.write(name, 0, &bytes);
    }

    pub fn write(&self, name: &str, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(self.image(name)).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }

    pub fn wipe(&self, name: &str) {
        let images = self.images.lock().unwrap();
        let size = images[name].metadata().unwrap().len();
        images[name].set_len(0).unwrap();
        images[name].set_len(size).unwrap();
    }

    pub fn request(&self, level: WriteLevel) -> GateRequest {
        let path = PathBuf::from("/dev").join(self.target);
        GateRequest { path, level, range: None, own: self.own.clone() }
    }

    pub fn report(&self, level: WriteLevel) -> Examination {
        self.report_on(self.request(level))
    }

    pub fn report_on(&self, request: GateRequest) -> Examination {
        examine_with(&self.kernel, &self.fake.roots, request)
    }

    /// Without any confirmation.
    pub fn examine(&self, level: WriteLevel) -> GateRecord {
        self.report(level).record(&Confirmation::none())
    }

    /// With the confirmation of exactly this device.
    pub fn confirmed(&self, level: WriteLevel) -> GateRecord {
        let report = self.report(level);
        let phrase = report.device().map(|device| device.phrase());
        report.record(&Confirmation::given(&phrase.into_iter().collect::<Vec<_>>()))
    }

    /// Panics unless every level that writes is allowed with the confirmation.
    #[track_caller]
    pub fn allows_all(&self) {
        for level in LEVELS {
            allowed(&self.confirmed(level));
        }
    }

    /// Panics unless this check refuses each of these levels with these words.
    #[track_caller]
    pub fn refuses(&self, levels: &[WriteLevel], name: &str, words: &str) {
        for level in levels {
            refused(&self.confirmed(*level), name, words);
        }
    }

    #[track_caller]
    pub fn claimed(&self, level: WriteLevel) -> RawDisk {
        let report = self.report(level);
        let phrase = report.device().unwrap().phrase();
        self.claim(report, &[&phrase]).unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    pub fn claim_to_restore(&self) -> Result<RawDisk, Refusal> {
        let kernel = Box::new(Arc::clone(&self.kernel));
        let node = Path::new("/dev").join(self.target);
        restore_claim::claim_with(kernel, &self.fake.roots, node)
    }

    pub fn opened_for_writing(&self) -> bool {
        self.kernel.opened.lock().unwrap().iter().any(|access| access.writes())
    }

    pub fn claim(&self, report: Examination, given: &[&str]) -> Result<RawDisk, Refusal> {
        let given: Vec<String> = given.iter().map(|text| text.to_string()).collect();
        let kernel = Box::new(Arc::clone(&self.kernel));
        claim_with(kernel, &self.fake.roots, report, &Confirmation::given(&given))
    }
}

/// Names and evidence of the checks that refuse.
pub fn refusals(record: &GateRecord) -> Vec<(&str, &str)> {
    record.refusals().map(|check| (check.name.as_str(), check.evidence.as_str())).collect()
}

/// Panics if there is none.
#[track_caller]
pub fn check<'a>(record: &'a GateRecord, name: &str) -> &'a Check {
    let found = record.checks.iter().find(|check| check.name == name);
    found.unwrap_or_else(|| panic!("no check {name} in {record:#?}"))
}

/// Panics unless nothing refuses.
#[track_caller]
pub fn allowed(record: &GateRecord) {
    assert!(record.is_allowed(), "{:?}", refusals(record));
}

/// Panics unless this check refuses with these words, and every refusal names its command.
#[track_caller]
pub fn refused(record: &GateRecord, name: &str, words: &str) {
    let found = refusals(record);
    let is_it = |(check, evidence): &(&str, &str)| *check == name && evidence.contains(words);
    assert!(found.iter().any(is_it), "no {name} with '{words}' in {found:#?}");
    for check in record.checks.iter().filter(|check| check.outcome == Outcome::Refused) {
        assert!(check.command.as_ref().is_some_and(|c| !c.is_empty()), "{check:?}");
        assert!(!check.evidence.contains('\n'), "one line each: {check:?}");
    }
}
