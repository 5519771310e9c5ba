//! Models as data: one TOML file per drive, the built-in ones and a user's own.

mod built_in;
mod data_sheet;
mod drive;
mod line_numbers;
mod start_state;
mod text_fields;
mod toml_errors;
mod wrong_value;

pub use built_in::BUILT_IN;
pub use data_sheet::DataSheet;
pub use drive::Medium;
pub use start_state::{Planted, Start};

use crate::hdd::{HardDisk, HddParams};
pub use crate::link::ModelIdentity;
use crate::link::{LinkKind, LinkLayer, LinkParams, NonData};
use crate::param_problem::ParamProblem;
use crate::ssd::params::PortParams;
use crate::ssd::{Ssd, SsdParams};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MediumKind {
    Hdd,
    Ssd,
}

/// A model as its file has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Name in `sim:NAME`.
    pub name: String,
    /// One line.
    pub summary: String,
    /// Whether it stands for a drive that no source names exactly, with the parameters of its siblings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generic: bool,
    /// Chooses between the tables `[hdd]` and `[ssd]`.
    pub kind: MediumKind,
    pub identity: ModelIdentity,
    /// Printed facts that the model does not use.
    #[serde(default, skip_serializing_if = "DataSheet::is_empty")]
    pub data_sheet: DataSheet,
    pub link: LinkParams,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hdd: Option<HddParams>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssd: Option<SsdParams>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("{origin}:{line}:{column}: {message}")]
    Broken {
        origin: String,
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        message: String,
    },
    #[error("{origin}:{line}: {field}: {message}")]
    Impossible {
        origin: String,
        /// Line of the field, or of the table that lacks it, from 1.
        line: usize,
        field: String,
        /// The mistake, and the accepted values.
        message: String,
    },
}

impl Model {
    /// Reads and checks a model; `origin` names it in errors.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ModelError> {
        let broken = |at: usize, message: String| {
            let before = &text[..at.min(text.len())];
            ModelError::Broken {
                origin: origin.to_string(),
                line: before.matches('\n').count() + 1,
                column: before.chars().rev().take_while(|&c| c != '\n').count() + 1,
                message,
            }
        };
        let model: Self = toml::from_str(text).map_err(|error| {
            let (at, message) = toml_errors::mistake(text, &error);
            broken(at, message)
        })?;
        match (model.kind, &model.hdd, &model.ssd) {
            (MediumKind::Hdd, Some(_), None) | (MediumKind::Ssd, None, Some(_)) => {}
            (kind, ..) => {
                let kind = if kind == MediumKind::Hdd { "hdd" } else { "ssd" };
                return Err(broken(0, format!("kind {kind} needs one table, [{kind}]")));
            }
        }
        match model.problem() {
            None => Ok(model),
            Some((field, message)) => {
                let line = line_numbers::line_of(text, &field);
                Err(ModelError::Impossible { origin: origin.to_string(), line, field, message })
            }
        }
    }

    /// The first impossible value: path of the field, and the mistake.
    fn problem(&self) -> Option<(String, String)> {
        if let Some(problem) = text_fields::problem(self) {
            return Some(problem);
        }
        let hdd = self.hdd.as_ref().and_then(|params| params.validate().into_iter().next());
        if let Some(problem) = hdd {
            return Some((format!("hdd.{}", problem.field), problem.message));
        }
        let ssd = self.ssd.as_ref().and_then(|params| params.validate().into_iter().next());
        if let Some(problem) = ssd {
            return Some((format!("ssd.{}", problem.field), problem.message));
        }
        if let Err(problem) = self.link.validate_around(self.own_capacity(), self.own_sector()) {
            return Some((format!("link.{}", problem.field), problem.message));
        }
        if let Some((field, message)) = self.identity.problem(self.own_sector()) {
            return Some((format!("identity.{field}"), message));
        }
        let (field, message) = self.data_sheet.problem(self.hdd.as_ref())?;
        Some((format!("data_sheet.{field}"), message))
    }

    /// Warnings about accepted values that are probably mistakes: one line each.
    pub fn warnings(&self) -> Vec<String> {
        let strange = self.hdd.iter().flat_map(HddParams::strange);
        strange.map(|warning| format!("{}: hdd.{warning}", self.name)).collect()
    }

    fn own_capacity(&self) -> u64 {
        match (&self.hdd, &self.ssd) {
            (Some(params), _) => params.capacity_bytes,
            (_, Some(params)) => params.capacity_bytes,
            _ => 0,
        }
    }

    /// Unit in which the drive itself can be addressed.
    fn own_sector(&self) -> u32 {
        match (&self.hdd, &self.ssd) {
            (Some(params), _) => params.logical_sector_bytes,
            (_, Some(params)) => params.sector_bytes,
            _ => 512,
        }
    }

    /// Bytes that the host can address through the link.
    pub fn capacity_bytes(&self) -> u64 {
        self.link.shown_bytes(self.own_capacity(), self.own_sector())
    }

    pub fn shown(&self) -> ModelIdentity {
        self.identity.through(&self.link.bridge)
    }

    /// Whether the host takes it for a rotating drive, as Linux does by default.
    pub fn looks_rotating(&self) -> bool {
        self.kind == MediumKind::Hdd || self.link.bridge.hides_rotation
    }

    /// Whether a volatile write cache is reported as on; `None` where the host cannot ask.
    pub fn shows_write_cache(&self) -> Option<bool> {
        let on = self.hdd.as_ref().is_none_or(|params| params.write_cache.enabled);
        (!self.link.bridge.hides_write_cache).then_some(on)
    }

    /// Whether the host can send it TRIM: its kind frees trimmed space, and the link lets TRIM pass.
    pub fn takes_trim(&self) -> bool {
        let kind_does = self.hdd.as_ref().is_none_or(|params| params.smr.is_some());
        kind_does && self.link.trim != NonData::Refused
    }

    /// The drive behind its link, powered on.
    ///
    /// Data take time once, in the drive: its port runs at its own rate or at the link's payload rate,
    /// whichever is less.
    ///
    /// # Errors
    /// Every parameter that cannot be; none in a model that [`Model::parse`] gave.
    pub fn build(&self, start: &Start) -> Result<LinkLayer<Medium>, Vec<String>> {
        fn texts(problems: Vec<ParamProblem>) -> Vec<String> {
            problems.iter().map(ToString::to_string).collect()
        }
        let most_mb_s = self.link.payload_mb_s();
        let drive = match (&self.hdd, &self.ssd) {
            (Some(params), _) => {
                let mut params = params.clone();
                params.interface_mb_s = params.interface_mb_s.min(most_mb_s);
                let mut disk = HardDisk::new(&params, start.seed).map_err(texts)?;
                if start.anywhere {
                    disk.begin_anywhere();
                }
                disk.set_faults(start_state::hdd_faults(&start.planted, params.capacity_bytes));
                Medium::Hdd(Box::new(disk))
            }
            (_, Some(params)) => {
                let mut params = params.clone();
                params.port = Some(port_within(params.port, &self.link));
                let capacity = params.capacity_bytes;
                let mut drive = Ssd::new(params, start.seed).map_err(texts)?;
                if start.fill > 0.0 {
                    drive.precondition(start.fill);
                }
                drive.set_faults(start_state::ssd_faults(&start.planted, capacity));
                Medium::Ssd(Box::new(drive))
            }
            _ => return Err(vec!["a model has a table [hdd] or [ssd]".to_string()]),
        };
        LinkLayer::new(&self.link, drive).map_err(|problem| vec![problem.to_string()])
    }
}

/// The port of an SSD on a link; where the model gives none, one as fast as the link.
fn port_within(own: Option<PortParams>, link: &LinkParams) -> PortParams {
    let most_mb_s = link.payload_mb_s();
    let own = own.unwrap_or(PortParams {
        read_mb_s: most_mb_s,
        write_mb_s: most_mb_s,
        command_us: 0.0,
        full_duplex: link.kind == LinkKind::Nvme,
    });
    PortParams {
        read_mb_s: own.read_mb_s.min(most_mb_s),
        write_mb_s: own.write_mb_s.min(most_mb_s),
        ..own
    }
}

#[cfg(test)]
pub(crate) mod tests;
