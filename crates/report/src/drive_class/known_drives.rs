//! Drives to compare others with: the figures of drivescope's models, and those of stored runs.

use crate::verdict::criteria::Criterion;
use crate::workloads::answer_to;
use drivescope_model::drive::{Drive, DriveKind};
use drivescope_model::{Metric, Run};
use std::fmt::Write as _;

/// Figures of the models in suite `quick`, a line each: made by `cargo xtask classes`, and measured again by the
/// integration test `healthy_models`.
const OF_MODELS: &str = include_str!("known_drives.tsv");
/// Figures that characterize a drive, in the order of the columns, with their names.
pub(crate) const FIGURES: [(Criterion, &str); 4] = [
    (Criterion::SequentialReads, "Large files, read"),
    (Criterion::SequentialWrites, "Large files, written"),
    (Criterion::RandomReadsQ1, "Small reads, one at a time"),
    (Criterion::SyncedWrites, "Small writes, each made safe"),
];
/// Limit between the classes sold as 5,400 rpm (5,200 to 5,900) and as 7,200 rpm.
const FAST_RPM: u32 = 6_500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DriveClass {
    SlowDisk,
    FastDisk,
    SataSsd,
    NvmeSsd,
}

impl DriveClass {
    /// Slowest first.
    pub(crate) const ALL: [Self; 4] =
        [Self::SlowDisk, Self::FastDisk, Self::SataSsd, Self::NvmeSsd];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SlowDisk => "5,400 rpm disks",
            Self::FastDisk => "7,200 rpm disks",
            Self::SataSsd => "SATA SSDs",
            Self::NvmeSsd => "NVMe SSDs",
        }
    }

    /// `None` where too little is known, as for virtual drives.
    pub(crate) fn of(drive: &Drive) -> Option<Self> {
        let is_ssd = matches!(drive.kind, DriveKind::Ssd | DriveKind::Nvme | DriveKind::Simulated);
        match (drive.rpm.filter(|rpm| *rpm > 1), drive.transport.as_str()) {
            (Some(rpm), _) if rpm < FAST_RPM => Some(Self::SlowDisk),
            (Some(_), _) => Some(Self::FastDisk),
            (None, "nvme") if is_ssd => Some(Self::NvmeSsd),
            (None, _) if is_ssd && !drive.rotational_hint && drive.has_sata_link() => {
                Some(Self::SataSsd)
            }
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct KnownDrive {
    name: String,
    class: DriveClass,
    /// A value for each of [`FIGURES`] that was measured and is valid.
    figures: [Option<f64>; FIGURES.len()],
}

/// A figure as the known drives have it: where they are fast. A mean over the whole drive is another figure.
pub(crate) fn figure_of(run: &Run, criterion: Criterion) -> Option<&Metric> {
    answer_to(run, criterion).filter(|metric| !metric.key.contains(".mean_"))
}

impl KnownDrive {
    /// The drive of a run; `None` if it belongs to no known class.
    pub fn of(run: &Run) -> Option<Self> {
        let drive = run.drive.as_ref()?;
        let class = DriveClass::of(drive)?;
        let name = drive.model.as_deref().unwrap_or(&drive.name).trim().to_string();
        let figures = FIGURES.map(|(criterion, _)| Some(figure_of(run, criterion)?.value));
        Some(Self { name, class, figures })
    }

    /// A line of the file of models: name, class and figures, separated by tabs.
    pub fn line(&self) -> String {
        let mut line = format!("{}\t{}", self.name, self.class.name());
        for figure in self.figures {
            let _ = match figure {
                Some(value) => write!(line, "\t{value:.1}"),
                None => write!(line, "\t-"),
            };
        }
        line
    }

    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (name, class) = (fields.next()?.to_string(), fields.next()?);
        let class = DriveClass::ALL.into_iter().find(|known| known.name() == class)?;
        let figures = FIGURES.map(|_| fields.next().and_then(|text| text.parse().ok()));
        Some(Self { name, class, figures })
    }
}

pub(crate) fn models() -> Vec<KnownDrive> {
    OF_MODELS.lines().filter(|line| !line.starts_with('#')).filter_map(KnownDrive::read).collect()
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClassRange {
    pub(crate) class: DriveClass,
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) drives: usize,
}

/// The range of each class that has this figure, slowest class first.
pub(crate) fn class_ranges(known: &[KnownDrive], figure: usize) -> Vec<ClassRange> {
    let range = |class: DriveClass| {
        let of_class = known.iter().filter(|drive| drive.class == class);
        let values: Vec<f64> = of_class.filter_map(|drive| drive.figures[figure]).collect();
        let low = values.iter().copied().reduce(f64::min)?;
        let high = values.iter().copied().reduce(f64::max)?;
        Some(ClassRange { class, low, high, drives: values.len() })
    };
    DriveClass::ALL.into_iter().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, nvme};

    #[test]
    fn every_class_has_drives_in_every_figure() {
        let lines = OF_MODELS.lines().filter(|line| !line.starts_with('#')).count();
        let models = models();
        assert_eq!(lines, models.len());
        for figure in 0..FIGURES.len() {
            let ranges = class_ranges(&models, figure);
            assert_eq!(ranges.len(), DriveClass::ALL.len());
            assert!(ranges.iter().all(|range| range.drives >= 2 && range.low < range.high));
        }
        // Disks seek: no class of them reads scattered blocks as fast as any SSD.
        let reads = class_ranges(&models, 2);
        assert!(reads[1].high < reads[2].low, "{reads:?}");
    }

    #[test]
    fn a_line_keeps_what_a_run_says() {
        for (run, class) in [(hard_disk(), DriveClass::SlowDisk), (nvme(), DriveClass::NvmeSsd)] {
            let known = KnownDrive::of(&run).unwrap();
            assert_eq!(known.class, class);
            let again = KnownDrive::read(&known.line()).unwrap();
            assert_eq!((&again.name, again.class), (&known.name, known.class));
            for (a, b) in again.figures.iter().zip(known.figures) {
                assert!((a.unwrap_or(0.0) - b.unwrap_or(0.0)).abs() <= 0.05);
            }
        }
        let mut virtual_disk = hard_disk();
        let drive = virtual_disk.drive.as_mut().unwrap();
        (drive.kind, drive.rpm) = (DriveKind::Virtual, None);
        assert_eq!(KnownDrive::of(&virtual_disk), None);
    }
}
