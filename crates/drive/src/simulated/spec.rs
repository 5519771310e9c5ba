//! `sim:MODEL?fill=0.8&seed=7&fault=…&fake=wrap:32GiB`: which simulated drive, in which state.

use super::faults::{self, PathFaults};
use super::model_file::{name_and_options, placed, text_of};
use super::smart_files::{self, SimulatedHealth};
pub use super::spec_error::SpecError;
use super::{AnyDrive, SimulatedDrive, hosts, partitions, spindle};
use drivescope_model::drive::{Drive, DriveKind, DriveSettings, Link};
use drivescope_model::health::Health;
use drivescope_model::shortened::shortened;
use drivescope_model::target::{IoMode, TargetInfo, TargetKind};
use drivescope_model::units::Bytes;
use drivescope_sim::fake_capacity::{FakeCapacity, FakeKind};
use drivescope_sim::host::HostParams;
use drivescope_sim::library::{BUILT_IN, MediumKind, Model, Planted, Start};

pub const PREFIX: &str = "sim:";

/// Remaining rate of a link that came up slowly.
const SLOW_LINK_SHARE: f64 = 0.25;
/// Share of an SSD that has been written before, unless `fill=` says otherwise: all of it, as after one
/// pass over the drive. Tests read anywhere, and an address that was never written costs no flash read:
/// the figures would be those of the controller alone.
const SSD_FILL: f64 = 1.0;

/// Parts of a drive begin at multiples of this.
const PART_UNIT: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct Spec {
    /// As given.
    pub text: String,
    pub model: Model,
    pub start: Start,
    /// What is wrong between the drive and the program.
    pub path: PathFaults,
    /// Hints for the user, one line each.
    pub notes: Vec<String>,
    /// First sectors (of 512 bytes) of the partitions it shows, ascending.
    pub partitions: Vec<u64>,
    /// Its real capacity, if less than announced.
    pub fake: Option<FakeCapacity>,
    pub host: HostParams,
    /// What its SMART reports, if anything.
    pub smart: Option<SimulatedHealth>,
}

pub fn model_named(name: &str) -> Result<Model, SpecError> {
    model_of(name, &text_of(name)?)
}

/// The model that a file's text describes; `name` begins its error messages.
pub fn model_of(name: &str, text: &str) -> Result<Model, SpecError> {
    Model::parse(name, text).map_err(|error| SpecError::Wrong(error.to_string()))
}

/// A loop device on a served drive reports the model's name as its model; it gets the model of the imitated drive.
pub fn name_served(drive: &mut Drive) {
    if let (DriveKind::Simulated, Some(name)) = (drive.kind, &drive.model) {
        drive.model = Some(shown_model(name));
    }
}

/// The model name that a built-in model's drive reports; other names stay as they are.
fn shown_model(name: &str) -> String {
    let is_built_in = BUILT_IN.iter().any(|(known, _)| *known == name);
    let model = is_built_in.then(|| model_named(name).ok()).flatten();
    let shown = model.map(|model| model.shown().model).filter(|shown| !shown.is_empty());
    shown.unwrap_or_else(|| name.to_string())
}

pub fn built_in() -> Result<Vec<Model>, SpecError> {
    BUILT_IN.iter().map(|(name, _)| model_named(name)).collect()
}

impl Spec {
    /// Of `sim:…`, with its model.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let (name, query) = name_and_options(text.strip_prefix(PREFIX).unwrap_or(text));
        let model = model_named(name)?;
        let fill = if model.kind == MediumKind::Ssd { SSD_FILL } else { 0.0 };
        let start = Start { seed: 1, fill, ..Start::default() };
        let (text, path) = (placed(text, name), PathFaults::default());
        let (notes, partitions) = (model.warnings(), Vec::new());
        let (fake, host, smart) = (None, HostParams::default(), None);
        let mut spec = Self { text, model, start, path, notes, partitions, fake, host, smart };
        let mut given = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            spec.set(key, value)?;
            if given.contains(&key) {
                return Err(SpecError::Wrong(format!("{key} is given twice; give it once")));
            }
            given.push(key);
        }
        if spec.fake.is_some() && spec.path.page_cache {
            let why = "the page cache would hide what the drive loses; leave one of them out";
            return Err(SpecError::Wrong(format!("fake= with fault=page-cache: {why}")));
        }
        if spec.path.slow_link {
            spec.model.link.rate_mb_s *= SLOW_LINK_SHARE;
        }
        Ok(spec)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), SpecError> {
        fn wrong(what: String) -> Result<(), SpecError> {
            Err(SpecError::Wrong(what))
        }
        let shown = shortened(value);
        match key {
            "seed" => match value.parse() {
                Ok(seed) => (self.start.seed, self.start.anywhere) = (seed, true),
                Err(_) => {
                    let most = u64::MAX;
                    return wrong(format!("seed={shown} is not a whole number from 0 to {most}"));
                }
            },
            "fill" => match value.parse() {
                Ok(fill) if (0.0..=1.0).contains(&fill) => self.set_fill(fill),
                _ => return wrong(format!("fill={shown} must lie between 0 and 1")),
            },
            "fault" => {
                for fault in value.split(',') {
                    let planted = (&mut self.start.planted, &mut self.path);
                    faults::plant(planted, &self.model, fault).map_err(SpecError::Wrong)?;
                }
            }
            "partition" => {
                self.partitions = partitions::starts(value, self.model.capacity_bytes())?;
            }
            "fake" => self.fake = Some(parse_fake(value, &self.model)?),
            "host" => self.host = hosts::named(value).map_err(SpecError::Wrong)?,
            "smart" => self.smart = Some(smart_files::read(value).map_err(SpecError::Wrong)?),
            "rpm" => spindle::turn_at(&mut self.model, value).map_err(SpecError::Wrong)?,
            _ => {
                return wrong(format!(
                    "'{}' is not seed, fill, fault, partition, fake, host, smart or rpm",
                    shortened(key)
                ));
            }
        }
        Ok(())
    }

    fn set_fill(&mut self, fill: f64) {
        self.start.fill = fill;
        if self.model.kind == MediumKind::Hdd {
            let shingled = self.model.hdd.as_ref().is_some_and(|disk| disk.smr.is_some());
            let as_ever = if shingled {
                "its bands count as written anyway"
            } else {
                "it is as fast as empty"
            };
            self.notes.push(format!(
                "fill={fill} on a hard disk: tests of a part of it (--size) and files lie behind that share; {as_ever}"
            ));
        }
    }

    /// Where a part of `len` bytes of the drive begins: on a hard disk after the used space (`fill=`), in whole MiB,
    /// as far as there is room; else at the start.
    pub fn part_start_bytes(&self, len: u64) -> u64 {
        if self.model.kind == MediumKind::Ssd {
            return 0;
        }
        let capacity = self.model.capacity_bytes();
        let taken = (capacity as f64 * self.start.fill) as u64;
        taken.min(capacity.saturating_sub(len)) / PART_UNIT * PART_UNIT
    }

    /// The drive, powered on.
    pub fn build(&self) -> Result<SimulatedDrive, SpecError> {
        let drive = self.build_drive(&self.start)?;
        if self.path.page_cache {
            return SimulatedDrive::behind_page_cache(drive, &self.host)
                .map_err(|problem| SpecError::Wrong(problem.to_string()));
        }
        let mut drive = SimulatedDrive::new(drive);
        if self.start.planted != Planted::default() {
            drive = drive.with_faults();
        }
        Ok(self.fake.into_iter().fold(drive, SimulatedDrive::with_fake))
    }

    /// A new file of `size_bytes` on a fresh drive of this kind, below a host's page cache; its time begins at
    /// `now_ns`. On a hard disk the share `fill=` of the file system was taken before.
    pub fn build_with_file(
        &self,
        size_bytes: u64,
        now_ns: u64,
    ) -> Result<SimulatedDrive, SpecError> {
        let (drive, taken) = self.build_formatted()?;
        SimulatedDrive::with_file(drive, &self.host, taken, size_bytes, now_ns)
            .map_err(|problem| SpecError::Wrong(problem.to_string()))
    }

    /// A fresh drive of this kind with an empty file system, below a host's page cache; its time begins at `now_ns`.
    /// On a hard disk the share `fill=` was taken before.
    pub fn build_with_files(&self, now_ns: u64) -> Result<SimulatedDrive, SpecError> {
        let (drive, taken) = self.build_formatted()?;
        SimulatedDrive::with_files(drive, &self.host, taken, now_ns)
            .map_err(|problem| SpecError::Wrong(problem.to_string()))
    }

    /// A fresh drive, and the share of its file system that is taken. Making a file system discards all that was on the
    /// drive (mke2fs does so by default).
    fn build_formatted(&self) -> Result<(AnyDrive, f64), SpecError> {
        let taken = if self.model.kind == MediumKind::Hdd { self.start.fill } else { 0.0 };
        Ok((self.build_drive(&Start { fill: 0.0, ..self.start })?, taken))
    }

    pub(super) fn build_drive(&self, start: &Start) -> Result<AnyDrive, SpecError> {
        let built = self.model.build(start);
        Ok(Box::new(built.map_err(|why| SpecError::Wrong(why.join("; ")))?))
    }

    pub fn target_info(&self) -> TargetInfo {
        let sector = self.model.shown().reported_logical_sector_bytes;
        let (mode, align) =
            if self.path.page_cache { (IoMode::Buffered, 1) } else { (IoMode::Direct, sector) };
        TargetInfo {
            path: self.text.clone(),
            kind: TargetKind::Simulated,
            size_bytes: self.model.capacity_bytes(),
            file_system: None,
            stack: Vec::new(),
            system_disk: false,
            io_mode: Some(mode),
            io_align_bytes: align,
        }
    }

    /// The drive as the host sees it through its link.
    pub fn drive(&self) -> Drive {
        let Model { name, link, .. } = &self.model;
        let identity = self.model.shown();
        let none = || Health {
            note: Some("a simulated drive has no health".to_string()),
            ..Health::default()
        };
        let health = self.smart.as_ref().map_or_else(none, |smart| smart.before.clone());
        let (link_name, possible) = if self.path.slow_link {
            (format!("{} at a quarter of its rate", link.name), Some(link.name.clone()))
        } else {
            (link.name.clone(), None)
        };
        Drive {
            name: name.clone(),
            path: self.text.clone(),
            kind: DriveKind::Simulated,
            model: non_empty(identity.model),
            serial: non_empty(identity.serial),
            firmware: non_empty(identity.firmware),
            wwn: None,
            capacity_bytes: self.model.capacity_bytes(),
            transport: link.kind.transport().to_string(),
            link: Some(Link { name: link_name, payload_mb_s: link.payload_mb_s(), possible }),
            rotational_hint: self.model.looks_rotating(),
            rpm: identity.rotation_rpm,
            zoned: None, // shingled models are driven by the drive, and hide it as most do
            logical_sector_bytes: identity.reported_logical_sector_bytes,
            physical_sector_bytes: identity.reported_physical_sector_bytes,
            write_cache: self
                .model
                .shows_write_cache()
                .map(|on| if on { "write back" } else { "write through" }.to_string()),
            scheduler: None,
            discards: Some(self.model.takes_trim()),
            settings: DriveSettings::default(),
            removable: false,
            read_only: false,
            temperature_c: health.now_c,
            health,
            partitions: partitions::described(
                &self.partitions,
                name,
                self.model.capacity_bytes(),
                identity.reported_physical_sector_bytes,
            ),
            content: None,
            mounts: Vec::new(),
            backing: Vec::new(),
        }
    }
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// `wrap:32GiB` or `cut:32GiB`, perhaps with the size of a cache that hides it: `cut:32GiB:8MiB`.
fn parse_fake(text: &str, model: &Model) -> Result<FakeCapacity, SpecError> {
    let malformed = || {
        let form = "write wrap:SIZE or cut:SIZE, perhaps with :CACHE behind";
        SpecError::Wrong(format!("fake={}: {form}", shortened(text)))
    };
    let (kind, sizes) = text.split_once(':').ok_or_else(malformed)?;
    let (real, cache) = sizes.split_once(':').unwrap_or((sizes, "0"));
    let fraud = match kind {
        "wrap" => FakeKind::Wrap,
        "cut" => FakeKind::Cut,
        _ => return Err(malformed()),
    };
    let bytes = |text: &str| text.parse::<Bytes>().map(|bytes| bytes.0).map_err(|_| malformed());
    let (real_bytes, cache_bytes) = (bytes(real)?, bytes(cache)?);
    let sector = u64::from(model.shown().reported_logical_sector_bytes);
    let is_whole = real_bytes.is_multiple_of(sector);
    if real_bytes == 0 || real_bytes >= model.capacity_bytes() || !is_whole {
        let range = format!(
            "must be whole sectors of {sector} bytes, between one sector and the announced size"
        );
        return Err(SpecError::Wrong(format!("fake={}: the real size {range}", shortened(text))));
    }
    Ok(FakeCapacity { fraud, real_bytes, cache_bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn served_drive_has_its_models_name() {
        let spec = Spec::parse("sim:wd40efrx").unwrap();
        let mut drive = Drive { model: Some("wd40efrx".to_string()), ..spec.drive() };
        name_served(&mut drive);
        assert_eq!(drive.model, Some(spec.model.shown().model));
        drive.model = Some("own-model".to_string());
        name_served(&mut drive);
        assert_eq!(drive.model.as_deref(), Some("own-model"));
    }

    #[test]
    fn a_spec_is_taken_apart() {
        let spec = Spec::parse("sim:wd20ears?fill=0.8&seed=7&fault=flush-lies,gone").unwrap();
        assert_eq!(spec.model.name, "wd20ears");
        assert_eq!(spec.start.seed, 7);
        assert!(spec.start.planted.flush_lies && spec.start.planted.gone_at.is_some());
        assert_eq!(spec.drive().physical_sector_bytes, 512, "this drive lies");
        assert_eq!(spec.build().unwrap().capacity_bytes(), 2_000_398_934_016);
    }

    #[test]
    fn flash_starts_written_by_default() {
        fn start(text: &str) -> f64 {
            Spec::parse(text).unwrap().start.fill
        }
        assert_eq!(start("sim:kioxia-bg4-128"), 1.0);
        assert_eq!(start("sim:kioxia-bg4-128?fill=0"), 0.0);
        assert_eq!(Spec::parse("sim:kioxia-bg4-128?fill=0").unwrap().notes, [""; 0]);
    }

    #[test]
    fn hard_disk_free_part_follows_used_space() {
        let disk = Spec::parse("sim:wd40ezrz?fill=0.8").unwrap();
        assert_eq!(disk.notes.len(), 1);
        assert!(disk.notes[0].contains("fill=0.8 on a hard disk"), "{}", disk.notes[0]);
        let capacity = disk.model.capacity_bytes();
        let share = |len| disk.part_start_bytes(len) as f64 / capacity as f64;
        assert!((share(1 << 30) - 0.8).abs() < 1e-5 && (share(capacity / 2) - 0.5).abs() < 1e-5);
        assert_eq!(
            (disk.part_start_bytes(capacity), disk.part_start_bytes(1 << 30) % PART_UNIT),
            (0, 0)
        );
        for text in ["sim:wd40ezrz", "sim:kioxia-bg4-128?fill=0.8"] {
            let spec = Spec::parse(text).unwrap();
            assert_eq!((spec.part_start_bytes(1 << 30), spec.notes.len()), (0, 0));
        }
        let shingled = Spec::parse("sim:st8000as0002-smr?fill=0.8").unwrap();
        assert!(shingled.notes[0].contains("count as written"), "{}", shingled.notes[0]);
    }

    #[test]
    fn the_host_sees_the_drive_through_its_link() {
        let usb = Spec::parse("sim:easystore-2tb").unwrap();
        let (drive, link) = (usb.drive(), usb.drive().link.unwrap());
        assert_eq!((drive.kind, drive.transport.as_str()), (DriveKind::Simulated, "usb"));
        assert_eq!((drive.rpm, drive.write_cache), (None, None), "the bridge hides them");
        assert_eq!(link.name, "USB 5 Gb/s (BOT)");
        assert!((link.payload_mb_s - 430.0).abs() < 1.0, "{}", link.payload_mb_s);
        let sata = Spec::parse("sim:wd40efrx").unwrap().drive();
        assert_eq!((sata.transport.as_str(), sata.rotational_hint), ("sata", true));
        assert_eq!(sata.write_cache.as_deref(), Some("write back"));
        let nvme = Spec::parse("sim:kioxia-bg4-128").unwrap().drive();
        assert_eq!((nvme.transport.as_str(), nvme.rotational_hint), ("nvme", false));
    }

    #[test]
    fn a_fake_drive_announces_its_models_size() {
        let spec = Spec::parse("sim:wd20ears?fake=cut:32GiB:8MiB").unwrap();
        let fake =
            FakeCapacity { fraud: FakeKind::Cut, real_bytes: 32 << 30, cache_bytes: 8 << 20 };
        assert_eq!(spec.fake, Some(fake));
        let drive = spec.build().unwrap();
        assert!(drive.keeps_contents() && drive.capacity_bytes() == 2_000_398_934_016);
        let text = text_of("easystore-2tb").unwrap();
        let bridged =
            text.replacen("hides_rotation", "logical_sector_bytes = 4096\nhides_rotation", 1);
        let model = model_of("easystore-2tb", &bridged).unwrap();
        assert!(parse_fake("cut:4097KiB", &model).is_err_and(|e| e.to_string().contains("4096")));
        assert!(parse_fake("cut:4MiB", &model).is_ok());
    }

    #[test]
    fn overlong_input_is_not_repeated_whole() {
        let long = "x".repeat(500_000);
        for (text, words) in [
            (format!("sim:{long}"), "drivescope sim list"),
            (format!("sim:./{long}.toml"), "check the path, or name a built-in model"),
            (format!("sim:wd20ears?{long}=1"), "is not seed, fill, fault"),
            (format!("sim:wd20ears?seed={long}"), "seed=xxx"),
            (format!("sim:wd20ears?fill={long}"), "fill=xxx"),
            (format!("sim:wd20ears?fault=gone,{long}"), "no fault 'xxx"),
            (format!("sim:wd20ears?partition={long}"), "partition=xxx"),
            (format!("sim:wd20ears?fake={long}"), "fake=xxx"),
            (format!("sim:wd20ears?fake=cut:{}1", "0".repeat(500_000)), "fake=cut:000"),
        ] {
            let error = Spec::parse(&text).unwrap_err().to_string();
            assert!(error.contains(words) && error.len() < 400, "{} bytes: {words}", error.len());
        }
    }

    #[test]
    fn mistakes_are_one_line_with_the_remedy() {
        for (text, words) in [
            ("sim:wd20ear", "did you mean 'wd20ears'"),
            ("sim:xyz", "drivescope sim list"),
            ("sim:./missing.toml", "./missing.toml: No such file"),
            ("sim:./missing.toml", "check the path, or name a built-in model"),
            ("sim:wd20ears?fill=2", "between 0 and 1"),
            ("sim:wd20ears?seed=x", "whole number"),
            (
                "sim:wd20ears?seed=-1",
                "seed=-1 is not a whole number from 0 to 18446744073709551615",
            ),
            ("sim:wd20ears?seed=99999999999999999999999", "from 0 to 18446744073709551615"),
            ("sim:wd20ears?seed=1&seed=2", "seed is given twice"),
            ("sim:wd20ears?fault=fire", "flush-lies"),
            ("sim:wd20ears?fault=", "fault= names none; wd20ears can have flush-lies"),
            ("sim:wd20ears?fault=gone,", "fault= names none"),
            ("sim:WD20EARS", "did you mean 'wd20ears'"),
            ("sim:wd20ears?speed=9", "seed, fill, fault, partition, fake, host, smart or rpm"),
            (
                "sim:wd20ears?host=laptop-2014",
                "no host 'laptop-2014' (did you mean 'laptop-2015'?)",
            ),
            ("sim:wd20ears?rpm=fast", "rpm=fast is not a speed such as 7200"),
            ("sim:pm871b-128?rpm=7200", "pm871b-128 does not turn"),
            ("sim:wd20ears?fault=throttled", "a hard disk does not throttle"),
            ("sim:kioxia-bg4-128?fault=flush-lies,first-come", "can have flush-lies, slow-region"),
            ("sim:wd20ears?fake=bent:32GiB", "wrap:SIZE or cut:SIZE"),
            ("sim:wd20ears?fake=wrap:a lot", "wrap:SIZE or cut:SIZE"),
            ("sim:wd20ears?fake=wrap:32GiB:x", "wrap:SIZE or cut:SIZE"),
            ("sim:wd20ears?fake=cut:0", "between one sector"),
            ("sim:wd20ears?fake=cut:100", "between one sector"),
            ("sim:wd20ears?fake=wrap:3TB", "between one sector"),
            ("sim:wd20ears?fault=page-cache&fake=wrap:1GiB", "leave one of them out"),
        ] {
            let error = Spec::parse(text).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains('\n'), "{error}");
        }
    }
}
