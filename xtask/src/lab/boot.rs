//! QEMU and the drives of its guest, without hardware acceleration: the guest is the same on every machine.

use super::image::Guest;
use super::share::SharedFolder;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// One without vectors of 256 bits, which cost more than they save where they are emulated.
const CPU: &str = "Nehalem";
/// The guests beside each other keep this machine's processors busy; with a second one in each they wait for their
/// own locks, and a pass takes half as long again.
const PROCESSORS: &str = "1";
/// The second line turns off protections that are slow in emulation and not needed here.
const KERNEL_OPTIONS: &str = "console=ttyS0 quiet panic=-1 root=LABEL=lab-root rw init=/sbin/lab-init \
    mitigations=off nokaslr no_timer_check random.trust_cpu=on cryptomgr.notests=1 apparmor=0 audit=0";
/// Bytes of each of the three plain drives, and of the others.
const DRIVE_BYTES: u64 = 32 << 20;

/// A running guest, which ends with this.
#[derive(Debug)]
pub struct Boot {
    qemu: Child,
}

impl Boot {
    /// Starts the guest. What it writes to its root is lost with it.
    pub fn start(guest: &Guest, share: &SharedFolder, drives: &[String]) -> Result<Self, String> {
        let mut qemu = Command::new("qemu-system-x86_64");
        qemu.args(["-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", CPU]);
        qemu.args(["-m", "1536M", "-smp", PROCESSORS]);
        qemu.args(["-display", "none", "-no-reboot", "-nodefaults"]);
        qemu.arg("-serial").arg(format!("file:{}", share.console().display()));
        qemu.arg("-kernel").arg(guest.file("vmlinuz")).arg("-initrd").arg(guest.file("initrd"));
        // Without the kernel's own multipath, both nodes of a shared namespace show.
        qemu.args(["-append", &format!("{KERNEL_OPTIONS} nvme_core.multipath=N")]);
        let root = guest.file("root.img");
        qemu.arg("-drive")
            .arg(format!("if=none,id=root,format=raw,snapshot=on,file={}", root.display()));
        qemu.args(["-device", "virtio-blk-pci,drive=root,serial=LAB-ROOT"]);
        let tag = "local,mount_tag=lab,security_model=none";
        qemu.arg("-virtfs").arg(format!("{tag},path={}", share.path().display())).args(drives);
        qemu.stdin(Stdio::null()).stdout(Stdio::null());
        let qemu = qemu.spawn().map_err(|e| format!("cannot start QEMU: {e}"))?;
        Ok(Self { qemu })
    }

    pub fn is_alive(&mut self) -> Result<bool, String> {
        let ended = self.qemu.try_wait().map_err(|e| format!("cannot ask for QEMU: {e}"))?;
        Ok(ended.is_none())
    }

    /// The power fails.
    pub fn cut(self) {
        drop(self);
    }
}

impl Drop for Boot {
    fn drop(&mut self) {
        let _ = self.qemu.kill();
        let _ = self.qemu.wait();
    }
}

/// The drives of the cases, in the folder of the run.
#[derive(Debug)]
pub struct GateDrives {
    arguments: Vec<String>,
}

impl GateDrives {
    pub fn new(share: &SharedFolder) -> Result<Self, String> {
        let mut arguments = Vec::new();
        let image = |name: &str, bytes| {
            share.blank_image(name, bytes).map(|path| path.display().to_string())
        };
        for name in ["a", "b", "c"] {
            let file = image(name, DRIVE_BYTES)?;
            let serial = format!("LAB-{}", name.to_uppercase());
            arguments.extend([
                format!(
                    "-blockdev=driver=raw,node-name={name},file.driver=file,file.filename={file}"
                ),
                format!("-device=virtio-blk-pci,drive={name},serial={serial}"),
            ]);
        }
        let file = image("nvme", DRIVE_BYTES)?;
        arguments.extend([
            format!("-blockdev=driver=raw,node-name=nvme,file.driver=file,file.filename={file}"),
            "-device=nvme-subsys,id=pair,nqn=lab".into(),
            "-device=nvme,id=first,serial=LAB-NVME,subsys=pair".into(),
            "-device=nvme,id=second,serial=LAB-NVME,subsys=pair".into(),
            "-device=nvme-ns,drive=nvme,bus=first,nsid=1,shared=on".into(),
        ]);
        let file = image("ata", DRIVE_BYTES)?;
        arguments.extend([
            format!("-blockdev=driver=raw,node-name=ata,file.driver=file,file.filename={file}"),
            "-device=ide-hd,bus=ide.0,drive=ata,serial=LAB-ATA,model=LAB DISK".into(),
        ]);
        let file = image("scsi", DRIVE_BYTES)?;
        for path in ["left", "right"] {
            arguments.extend([
                format!("-blockdev=driver=raw,node-name={path},file.driver=file,file.locking=off,file.filename={file}"),
                format!("-device=virtio-scsi-pci,id=bus-{path}"),
                format!("-device=scsi-hd,bus=bus-{path}.0,drive={path},serial=LAB-SCSI,wwn=0x5000000000001ab0,share-rw=on"),
            ]);
        }
        let (stick, card) = (image("stick", DRIVE_BYTES)?, image("card", DRIVE_BYTES)?);
        arguments.extend([
            "-device=nec-usb-xhci".into(),
            format!("-blockdev=driver=raw,node-name=stick,file.driver=file,file.filename={stick}"),
            "-device=usb-storage,drive=stick,removable=on,serial=LAB-STICK".into(),
            "-device=sdhci-pci".into(),
            format!("-blockdev=driver=raw,node-name=card,file.driver=file,file.filename={card}"),
            "-device=sd-card,drive=card".into(),
        ]);
        Ok(Self { arguments: split(arguments) })
    }

    pub fn arguments(&self) -> Vec<String> {
        self.arguments.clone()
    }
}

/// A drive with a volatile cache, all of whose writes and flushes go to a log too.
pub fn logged_drive(name: &str, image: &Path, log: &Path) -> Vec<String> {
    let (image, log) = (image.display(), log.display());
    split(vec![
        format!("-blockdev=driver=file,node-name={name}-file,filename={image}"),
        format!("-blockdev=driver=file,node-name={name}-log,filename={log}"),
        format!(
            "-blockdev=driver=blklogwrites,node-name={name},file={name}-file,log={name}-log,log-super-update-interval=1"
        ),
        format!(
            "-device=virtio-blk-pci,drive={name},serial=LAB-{},write-cache=on",
            name.to_uppercase()
        ),
    ])
}

/// QEMU takes options and their values as two words.
fn split(arguments: Vec<String>) -> Vec<String> {
    let words = |text: &String| {
        text.split_once('=').map(|(option, value)| [option.to_string(), value.to_string()])
    };
    arguments.iter().filter_map(words).flatten().collect()
}
