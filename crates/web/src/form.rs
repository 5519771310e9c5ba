//! The fields of an address or a form.

/// The fields, in order; a name may come several times.
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses the query part of an address, or a submitted form.
    pub fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// The text of a field without blanks around it; `None` if it is empty or absent.
    pub fn text(&self, name: &str) -> Option<String> {
        self.all(name).next().map(str::to_string)
    }

    /// Every value of a field.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// All fields but those of a name.
    pub fn without(&self, name: &str) -> Vec<(&str, &str)> {
        let others = self.0.iter().filter(|(known, _)| known != name);
        others.map(|(known, value)| (known.as_str(), value.as_str())).collect()
    }

    /// `None` if it is absent or not a number.
    pub fn number(&self, name: &str) -> Option<u32> {
        self.text(name)?.parse().ok()
    }
}

/// An address with these fields; empty ones are left out.
pub fn address(path: &str, fields: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    let filled = fields.iter().filter(|(_, value)| !value.is_empty());
    let query = query.extend_pairs(filled).finish();
    if query.is_empty() { path.to_string() } else { format!("{path}?{query}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_were_typed() {
        let typed = "sim:a?fill=0.8&b \"größe\" <&>";
        let address = address("/measure", &[("target", typed), ("label", ""), ("run", "1")]);
        let (path, query) = address.split_once('?').unwrap();
        let fields = Fields::parse(query.as_bytes());
        assert_eq!((path, fields.text("target").as_deref()), ("/measure", Some(typed)));
        assert_eq!((fields.text("label"), fields.number("run")), (None, Some(1)));
        let many = Fields::parse(b"run=a&x=1&run=+&run=b%0");
        assert_eq!(many.all("run").collect::<Vec<_>>(), ["a", "b%0"]);
    }
}
