//! What a request to a drive does, real or simulated.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IoOp {
    #[default]
    Read,
    /// Answered as soon as the drive chooses, from its cache if it has one.
    Write,
    /// Completes on the medium (`RWF_DSYNC`, force unit access).
    WriteThrough,
    /// `fdatasync`; offset ignored, length 0.
    Sync,
}

impl IoOp {
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::WriteThrough)
    }
}
