//! The lab's output: one row a case, as soon as it is known.

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutcome {
    /// Whether what was seen is what must be.
    pub passed: bool,
    /// The observed outcome.
    pub seen: String,
}

impl CaseOutcome {
    pub fn passed(seen: impl Into<String>) -> Self {
        Self { passed: true, seen: seen.into() }
    }

    pub fn failed(seen: impl Into<String>) -> Self {
        Self { passed: false, seen: seen.into() }
    }
}

impl From<Result<String, String>> for CaseOutcome {
    fn from(result: Result<String, String>) -> Self {
        match result {
            Ok(seen) => Self::passed(seen),
            Err(seen) => Self::failed(seen),
        }
    }
}

/// One row.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    /// The expected outcome, in words.
    pub expected: String,
    pub outcome: CaseOutcome,
}

/// The rows so far.
#[derive(Debug, Default)]
pub struct Table {
    rows: usize,
    failed: Vec<String>,
}

impl Table {
    pub fn add(&mut self, row: &Row) {
        let Row { name, expected, outcome } = row;
        if self.rows == 0 {
            println!("{:<6}  {:<26}  {:<30}  seen", "", "case", "expected");
        }
        let word = if outcome.passed { "ok" } else { "FAILED" };
        println!("{word:<6}  {name:<26}  {expected:<30}  {}", outcome.seen);
        self.rows += 1;
        if !outcome.passed {
            self.failed.push(name.clone());
        }
    }

    /// The last line; an error if a row failed, or if there is none.
    pub fn end(self) -> Result<(), String> {
        match (self.rows, self.failed.len()) {
            (0, _) => Err("no case has such a name (--list shows them)".to_string()),
            (rows, 0) => {
                println!("all {rows} cases as expected");
                Ok(())
            }
            (rows, failed) => {
                Err(format!("{failed} of {rows} cases failed: {}", self.failed.join(", ")))
            }
        }
    }
}
