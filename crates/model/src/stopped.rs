//! Where a test that writes a whole drive was ended: written into the `reason` of its result, and read from
//! there by `--resume`.

use crate::options::TestKind;
use crate::units::Bytes;
use std::fmt;
use std::str::FromStr;

/// Separates what people read from the options.
const OPTIONS: &str = "to continue: ";
/// What the read phase of `verify` says when nothing before the position has to be read again.
const INTACT: &str = "all before it intact";

/// What was going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// A full `fill`.
    Fill,
    /// The write phase of a full `verify`.
    VerifyWrite,
    /// Its read phase; whether every sector before the position was read and is intact.
    VerifyRead {
        /// The result can be about the whole drive then.
        is_whole: bool,
    },
}

/// A full `fill` or `verify` that was ended before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The plan's seed, which every stamp on the drive follows from.
    pub seed: u64,
    /// Where to go on, bytes from the beginning of the target.
    pub at_bytes: u64,
    /// What was going on.
    pub phase: Phase,
}

impl Stopped {
    /// Which test.
    pub fn test(&self) -> TestKind {
        match self.phase {
            Phase::Fill => TestKind::Fill,
            Phase::VerifyWrite | Phase::VerifyRead { .. } => TestKind::Verify,
        }
    }

    /// Whether going on saves anything.
    pub fn is_worthwhile(&self) -> bool {
        self.at_bytes > 0 || matches!(self.phase, Phase::VerifyRead { .. })
    }

    /// What `--set` takes to go on.
    pub fn settings(&self) -> Vec<String> {
        let test = self.test().name();
        let phase = match self.phase {
            Phase::Fill => None,
            Phase::VerifyWrite => Some("write"),
            Phase::VerifyRead { .. } => Some("read"),
        };
        let phase = phase.map(|phase| format!("{test}.phase={phase}"));
        let from = format!("{test}.from={}", self.at_bytes);
        std::iter::once(format!("{test}.mode=full")).chain(phase).chain([from]).collect()
    }
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped at byte {} ({})", self.at_bytes, Bytes(self.at_bytes))?;
        match self.phase {
            Phase::Fill => {}
            Phase::VerifyWrite => write!(f, " of the write phase")?,
            Phase::VerifyRead { is_whole: false } => write!(f, " of the read phase")?,
            Phase::VerifyRead { is_whole: true } => write!(f, " of the read phase, {INTACT}")?,
        }
        write!(
            f,
            "; --resume goes on there; without this run in the store, {OPTIONS}--seed {}",
            self.seed
        )?;
        self.settings().iter().try_for_each(|setting| write!(f, " --set {setting}"))
    }
}

impl FromStr for Stopped {
    type Err = ();

    /// From the `reason` of a result. Errors: it says nothing of the kind.
    fn from_str(reason: &str) -> Result<Self, ()> {
        let (before, options) = reason.rsplit_once(OPTIONS).ok_or(())?;
        let words: Vec<&str> = options.split_whitespace().collect();
        let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)).ok_or(());
        let number = |text: &str| text.parse::<u64>().map_err(|_| ());
        let seed = words.iter().position(|word| *word == "--seed").ok_or(())?;
        let seed = number(words.get(seed + 1).ok_or(())?)?;
        let (phase, from) = match (value("fill.from="), value("verify.phase=")) {
            (Ok(from), _) => (Phase::Fill, from),
            (_, Ok("write")) => (Phase::VerifyWrite, value("verify.from=")?),
            (_, Ok("read")) => {
                let is_whole = before.contains(INTACT);
                (Phase::VerifyRead { is_whole }, value("verify.from=")?)
            }
            _ => return Err(()),
        };
        Ok(Self { seed, at_bytes: number(from)?, phase })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        for phase in [
            Phase::Fill,
            Phase::VerifyWrite,
            Phase::VerifyRead { is_whole: true },
            Phase::VerifyRead { is_whole: false },
        ] {
            let stopped = Stopped { seed: u64::MAX, at_bytes: 4096, phase };
            let text = format!("left out: something; {stopped}");
            assert_eq!(text.parse(), Ok(stopped), "{text}");
        }
    }

    #[test]
    fn the_options_are_those_of_the_command_line() {
        let phase = Phase::VerifyRead { is_whole: true };
        let stopped = Stopped { seed: 7, at_bytes: 512, phase };
        assert!(stopped.to_string().ends_with(
            "to continue: --seed 7 --set verify.mode=full --set verify.phase=read --set verify.from=512"
        ));
        assert_eq!(stopped.test(), TestKind::Verify);
        let at_begin = |phase| Stopped { at_bytes: 0, phase, ..stopped };
        assert!(at_begin(phase).is_worthwhile(), "everything is written");
        assert!(!at_begin(Phase::VerifyWrite).is_worthwhile());
    }

    #[test]
    fn other_reasons_are_none() {
        for text in [
            "",
            "needs a directory",
            "to continue: ",
            "to continue: --seed x --set fill.from=1",
            "to continue: --seed 1 --set fill.from=1T",
            "to continue: --seed 1 --set verify.phase=read",
        ] {
            assert_eq!(text.parse::<Stopped>(), Err(()), "{text}");
        }
    }
}
