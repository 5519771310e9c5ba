//! The outcome of making tables.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaReport {
    /// Version of the tables before; `None`: there were none.
    pub from: Option<u32>,
    pub to: u32,
    /// What could not be made, with the remedy.
    pub lacks: Vec<String>,
}
