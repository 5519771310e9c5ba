//! A drive that falls silent every now and then, as one does whose firmware is busy with itself.

use crate::device::Nanos;

/// Answers that fall due at the end of a period wait for the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stalls {
    /// From the end of one stall to the end of the next.
    pub every: Nanos,
    /// Length of each; shorter than that.
    pub len: Nanos,
}

impl Stalls {
    pub fn answered(self, at: Nanos) -> Nanos {
        let since = at % self.every;
        if since >= self.every - self.len { at - since + self.every } else { at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_due_in_stall_wait_for_end() {
        let stalls = Stalls { every: 100, len: 20 };
        let given = [0, 79, 80, 99, 100, 179, 180].map(|at| stalls.answered(at));
        assert_eq!(given, [0, 79, 100, 100, 100, 179, 200]);
    }
}
