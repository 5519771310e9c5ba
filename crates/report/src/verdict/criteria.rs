//! What verdicts ask of a drive, and the metrics with which a workload answers.

/// A property of drives, whichever workload measures it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Criterion {
    RandomReadsQ1,
    RandomReadsDeep,
    RandomReadP99,
    RandomWritesQ1,
    RandomWrites,
    SyncedWrites,
    SequentialReads,
    SequentialWrites,
    ReadsAtEnd,
}

impl Criterion {
    const ALL: [Self; 9] = [
        Self::RandomReadsQ1,
        Self::RandomReadsDeep,
        Self::RandomReadP99,
        Self::RandomWritesQ1,
        Self::RandomWrites,
        Self::SyncedWrites,
        Self::SequentialReads,
        Self::SequentialWrites,
        Self::ReadsAtEnd,
    ];

    /// `random reads at depth 1`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::RandomReadsQ1 => "random reads at depth 1",
            Self::RandomReadsDeep => "random reads in a deep queue",
            Self::RandomReadP99 => "99th percentile of a small read at depth 1",
            Self::RandomWritesQ1 => "random writes at depth 1",
            Self::RandomWrites => "random writes",
            Self::SyncedWrites => "small synced writes",
            Self::SequentialReads => "sequential reads",
            Self::SequentialWrites => "sequential writes",
            Self::ReadsAtEnd => "reads at the end of the drive",
        }
    }

    /// The criterion with this name, as documents have it.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|criterion| criterion.name() == name)
    }

    /// A phrase with `{}` for the value.
    pub(crate) const fn phrase(self) -> &'static str {
        match self {
            Self::RandomReadsQ1 => "{} random reads/s at depth 1",
            Self::RandomReadsDeep => "{} random reads/s in a deep queue",
            Self::RandomReadP99 => "one small read in a hundred takes over {}",
            Self::RandomWritesQ1 => "{} random writes/s at depth 1",
            Self::RandomWrites => "{} random writes/s",
            Self::SyncedWrites => "{} small synced writes/s",
            Self::SequentialReads => "sequential reads at {}",
            Self::SequentialWrites => "sequential writes at {}",
            Self::ReadsAtEnd => "reads at its end at {}",
        }
    }

    /// Completes `end of drive not tested`.
    pub(crate) const fn short_name(self) -> &'static str {
        match self {
            Self::RandomReadsDeep => "deep queue",
            Self::RandomReadP99 => "slowest reads",
            Self::SyncedWrites => "synced writes",
            Self::ReadsAtEnd => "end of drive",
            _ => self.name(),
        }
    }

    /// `1/s`, `MB/s`, `us`.
    pub(crate) const fn unit(self) -> &'static str {
        match self {
            Self::RandomReadP99 => "us",
            Self::SequentialReads | Self::SequentialWrites | Self::ReadsAtEnd => "MB/s",
            _ => "1/s",
        }
    }

    pub(crate) const fn smaller_is_better(self) -> bool {
        matches!(self, Self::RandomReadP99)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence {
    pub(crate) criterion: Criterion,
    pub(crate) key: &'static str,
    pub(crate) is_written: bool,
    /// Counts before the metrics of workloads earlier in the registry.
    pub(crate) is_preferred: bool,
}

impl Evidence {
    pub(crate) const fn of_reads(criterion: Criterion, key: &'static str) -> Self {
        Self { criterion, key, is_written: false, is_preferred: false }
    }

    pub(crate) const fn of_writes(criterion: Criterion, key: &'static str) -> Self {
        Self { is_written: true, ..Self::of_reads(criterion, key) }
    }

    pub(crate) const fn preferred(self) -> Self {
        Self { is_preferred: true, ..self }
    }
}
