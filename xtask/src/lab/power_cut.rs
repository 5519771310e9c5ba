//! Power cuts while a run has patterns on a drive, or is about to, or puts its contents back: the guest is killed,
//! and its drive and the one with the journal lose what was not flushed. In the next boot `restore` must bring every
//! byte back.

use super::boot::{Boot, logged_drive};
use super::image::{Guest, run_quietly};
use super::judge::{bytes_are_back, exit_is};
use super::share::{Out, SharedFolder};
use super::table::{CaseOutcome, Row};
use super::write_log::{Dice, lose_power};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// Name of the rows, with a number after it.
pub const NAME: &str = "power-cut";
/// Bytes of the drive, and of the one with the journal.
const DRIVE_BYTES: u64 = 32 << 20;
const STATE_BYTES: u64 = 64 << 20;
/// A boot and its steps take less, on the slowest machine that builds the project.
const LONGEST: Duration = Duration::from_secs(15 * 60);
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of the log that show patterns: a run that only looks sends flushes.
const FIRST_PATTERNS: u64 = 256 << 10;
/// Cuts come within this time of the first patterns: by then a run has put back, and the next one has begun.
const MOMENT_MS: u64 = 6_000;

/// The steps of both boots; a drive's contents are known by their checksum.
const COMMON: &str = "
. /lab/kit.sh
target=$(readlink -f /dev/disk/by-id/virtio-LAB-TARGET)
export XDG_STATE_HOME=/mnt/state
mount /dev/disk/by-id/virtio-LAB-STATE /mnt
sums > $out/before
";
/// One run without end, or run after run, until the power fails.
const RUNS: &str = "
look
while :; do
    drivescope run $target --json --quiet --no-save --write $level $patterns --time $time > $out/run 2> $out/run.err
done
";
/// Says what the cut left, and mends it.
const MEND: &str = "
ls /mnt/state/drivescope/journals > $out/journals
drivescope restore > $out/restore 2>&1
echo $? > $out/restore.code
sums > $out/after
look
drivescope run $target --json --quiet --no-save --write $level $patterns --time 50ms > $out/run 2> $out/run.err
echo $? > $out/code
sums > $out/again
umount /mnt
";

/// Cuts the power so often, each time at another moment.
pub fn run(guest: &Guest, cuts: u64, rows: &Sender<Row>) -> Result<(), String> {
    for seed in 1..=cuts {
        let (name, outcome) = (format!("{NAME}-{seed}"), cut(guest, seed)?);
        let _ = rows.send(Row { name, expected: "restored".to_string(), outcome });
    }
    Ok(())
}

fn cut(guest: &Guest, seed: u64) -> Result<CaseOutcome, String> {
    let share = SharedFolder::new(&guest.folder, &guest.program)?;
    let drive = LoggedDrive::new(&share, "target", &noise(seed))?;
    let state = LoggedDrive::new(&share, "state", &vec![0; STATE_BYTES as usize])?;
    let mut format = Command::new("mkfs.ext4");
    format.arg("-q").arg(&state.image);
    run_quietly(format)?;
    let disks = [drive, state];
    let before = [disks[0].read()?, disks[1].read()?];
    if let Err(said) = run_until_the_cut(guest, &share, &disks, seed) {
        return Ok(CaseOutcome::failed(said));
    }
    let mut lost = 0;
    for (disk, mut image) in disks.iter().zip(before.clone()) {
        let log = read(&disk.log)?;
        lost += lose_power(&mut image, &log, seed)?;
        write(&disk.image, &image)?;
    }
    let changed = disks[0]
        .read()?
        .chunks(512)
        .zip(before[0].chunks(512))
        .filter(|(now, then)| now != then)
        .count();
    share.remove_case(0, "runs")?;
    let out = mend(guest, &share, &disks)?;
    let back = disks[0].read()? == before[0];
    if is_endless(seed) && changed == 0 {
        return Ok(CaseOutcome::failed("the cut hit no pattern"));
    }
    Ok(judge(&out, back, changed, lost).into())
}

fn judge(out: &Out, back: bool, changed: usize, lost: usize) -> Result<String, String> {
    let at = format!("{changed} sectors of patterns, {lost} writes lost");
    let judged = || {
        exit_is(out, "restore.code", 0, "restore")?;
        exit_is(out, "code", 0, "run.err")?;
        if changed > 0 && bytes_are_back(out).is_ok() {
            return Err("the guest read no pattern".to_string());
        }
        if out.text("after")? != out.text("again")? || !back {
            return Err("BYTES CHANGED".to_string());
        }
        Ok(())
    };
    judged().map(|()| at.clone()).map_err(|said: String| format!("{said}; {at}"))
}

/// The first boot, which ends with the cut.
fn run_until_the_cut(
    guest: &Guest,
    share: &SharedFolder,
    disks: &[LoggedDrive; 2],
    seed: u64,
) -> Result<(), String> {
    // Half of the cuts surely hit patterns, the others whatever is done at that moment.
    let time = if is_endless(seed) { "1h" } else { "700ms" };
    share.add_case(0, "runs", &format!("{COMMON}time={time}\n{RUNS}"))?;
    let mut boot = boot(guest, share, disks)?;
    let written = || std::fs::metadata(&disks[0].log).map_or(0, |log| log.len());
    wait(&mut boot, share, || written() > FIRST_PATTERNS)?;
    std::thread::sleep(Duration::from_millis(Dice(seed).next() % MOMENT_MS));
    boot.cut();
    Ok(())
}

fn is_endless(seed: u64) -> bool {
    seed % 2 == 1
}

/// The second boot, to its end.
fn mend(guest: &Guest, share: &SharedFolder, disks: &[LoggedDrive; 2]) -> Result<Out, String> {
    share.add_case(1, "mend", &format!("{COMMON}{MEND}"))?;
    let out = share.out(1, "mend");
    let mut boot = boot(guest, share, disks)?;
    wait(&mut boot, share, || out.has("end"))?;
    // The guest switches itself off; by then all is in the images.
    let _ = wait(&mut boot, share, || false);
    Ok(out)
}

fn boot(guest: &Guest, share: &SharedFolder, disks: &[LoggedDrive; 2]) -> Result<Boot, String> {
    let mut drives = Vec::new();
    for disk in disks {
        write(&disk.log, &[])?;
        drives.extend(logged_drive(disk.name, &disk.image, &disk.log));
    }
    Boot::start(guest, share, &drives)
}

/// Waits until something holds; an error if the guest ends before.
fn wait(boot: &mut Boot, share: &SharedFolder, holds: impl Fn() -> bool) -> Result<(), String> {
    let begin = Instant::now();
    while !holds() {
        if !boot.is_alive()? || begin.elapsed() > LONGEST {
            return Err(format!("the guest stopped; {}", share.last_words()));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// An image and the log of what was written to it since the boot.
struct LoggedDrive {
    name: &'static str,
    image: PathBuf,
    log: PathBuf,
}

impl LoggedDrive {
    fn new(share: &SharedFolder, name: &'static str, contents: &[u8]) -> Result<Self, String> {
        let disk = Self {
            name,
            image: share.beside(&format!("{name}.img")),
            log: share.beside(&format!("{name}.log")),
        };
        write(&disk.image, contents)?;
        Ok(disk)
    }

    fn read(&self) -> Result<Vec<u8>, String> {
        read(&self.image)
    }
}

/// Contents that no pattern equals.
fn noise(seed: u64) -> Vec<u8> {
    let mut dice = Dice(seed);
    (0..DRIVE_BYTES / 8).flat_map(|_| dice.next().to_le_bytes()).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
