//! What a test found, in lines: a name and a few words. The terminal and pages print the same.

use crate::terminal::{DOT, Paragraph, Role};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FoundFact {
    pub(crate) name: String,
    items: Vec<FactItem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FactItem {
    role: Role,
    text: String,
    /// A sentence continues; an item stands for itself.
    continues: bool,
}

impl FoundFact {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_string(), items: Vec::new() }
    }

    #[must_use]
    pub(crate) fn item(mut self, role: Role, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.items.push(FactItem { role, text, continues: false });
        }
        self
    }

    #[must_use]
    pub(crate) fn items<T: Into<String>>(
        self,
        role: Role,
        texts: impl IntoIterator<Item = T>,
    ) -> Self {
        texts.into_iter().fold(self, |fact, text| fact.item(role, text))
    }

    #[must_use]
    pub(crate) fn text(mut self, role: Role, text: impl Into<String>) -> Self {
        self.items.push(FactItem { role, text: text.into(), continues: true });
        self
    }

    pub(crate) fn has_words(&self) -> bool {
        !self.items.is_empty()
    }

    /// `5,400 rpm · a turn takes 11.1 ms`.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        for item in &self.items {
            let gap = if item.continues { " " } else { DOT };
            words += if words.is_empty() { "" } else { gap };
            words += &item.text;
        }
        words
    }

    /// The same on a terminal, the name in a column of this width.
    pub(crate) fn paragraph(&self, name_width: usize) -> Paragraph {
        let lead = Paragraph::new().lead(Role::Dim, format!("  {:<name_width$}  ", self.name));
        self.items.iter().fold(lead, |paragraph, item| {
            if item.continues {
                paragraph.text(item.role, &item.text)
            } else {
                paragraph.item(item.role, &item.text)
            }
        })
    }
}
