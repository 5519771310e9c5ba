//! A statement of the user's own, and its parameters.

use crate::{SqlError, TABLE};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placeholder {
    /// `?`.
    Question,
    /// `$1`.
    Dollar,
    /// `@P1`.
    #[cfg(feature = "mssql")]
    AtNumber,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserQuery {
    /// The text as written, except for the name of the table.
    text: String,
    /// Its parameters, a row for each iteration; one without any if there are none.
    rows: Vec<Vec<String>>,
}

impl UserQuery {
    /// A statement in which `?` stands for parameters and `%t` for the test's table, and lines of parameters apart by
    /// tabs. Errors: the numbers do not match, or there is nothing.
    pub fn parse(statement: &str, parameters: Option<&str>) -> Result<Self, SqlError> {
        fn wrong(why: String) -> Result<UserQuery, SqlError> {
            Err(SqlError::Usage(why))
        }
        let text = statement.trim().trim_end_matches(';').trim().replace("%t", TABLE);
        if text.is_empty() {
            return wrong("the file of --query is empty; it needs one statement".to_string());
        }
        let wanted = marks(&text).len();
        let lines = parameters.unwrap_or("").lines().filter(|line| !line.is_empty());
        let rows: Vec<Vec<String>> =
            lines.map(|line| line.split('\t').map(str::to_string).collect()).collect();
        if rows.is_empty() {
            return match wanted {
                0 => Ok(Self { text, rows: vec![Vec::new()] }),
                _ => wrong(format!(
                    "the statement has {wanted} parameters; name a file with --params"
                )),
            };
        }
        match (1..).zip(&rows).find(|(_, row)| row.len() != wanted) {
            Some((number, row)) => wrong(format!(
                "line {number} of --params has {} fields, the statement {wanted} parameters",
                row.len()
            )),
            None => Ok(Self { text, rows }),
        }
    }

    /// Rows of parameters; never none.
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    pub(crate) fn text(&self, placeholder: Placeholder) -> String {
        let marks = marks(&self.text);
        let mut text = String::with_capacity(self.text.len() + marks.len() * 2);
        let mut from = 0;
        for (number, at) in (1..).zip(marks) {
            text.push_str(&self.text[from..at]);
            match placeholder {
                Placeholder::Question => text.push('?'),
                Placeholder::Dollar => text.push_str(&format!("${number}")),
                #[cfg(feature = "mssql")]
                Placeholder::AtNumber => text.push_str(&format!("@P{number}")),
            }
            from = at + 1;
        }
        text.push_str(&self.text[from..]);
        text
    }
}

/// Where parameters stand: question marks outside of quotes and comments.
fn marks(text: &str) -> Vec<usize> {
    let (mut found, mut quote, mut in_comment) = (Vec::new(), None, false);
    let mut before = '\0';
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if in_comment => in_comment = letter != '\n',
            (Some(open), _) => quote = quote.filter(|_| letter != open),
            (None, '\'' | '"' | '`') => quote = Some(letter),
            (None, '-') if before == '-' => in_comment = true,
            (None, '?') => found.push(at),
            _ => {}
        }
        before = letter;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_outside_of_quotes_and_comments() {
        let text = "SELECT '?', \"a?\" FROM %t -- why?\n WHERE a = ? AND a < ?;\n";
        let query = UserQuery::parse(text, Some("1\t2\n3\t4\n")).unwrap();
        assert_eq!(query.rows().len(), 2);
        assert!(query.text(Placeholder::Dollar).ends_with("WHERE a = $1 AND a < $2"));
        #[cfg(feature = "mssql")]
        assert!(query.text(Placeholder::AtNumber).ends_with("WHERE a = @P1 AND a < @P2"));
        assert!(query.text(Placeholder::Question).contains("FROM drivescope_table -- why?"));
    }

    #[test]
    fn mistakes_are_named() {
        fn wrong(text: &str, parameters: Option<&str>) -> String {
            UserQuery::parse(text, parameters).unwrap_err().to_string()
        }
        assert!(wrong(" ;\n", None).contains("empty"));
        assert!(wrong("SELECT ?", None).contains("--params"));
        assert!(wrong("SELECT ?", Some("1\n2\t3\n")).contains("line 2 of --params has 2 fields"));
        assert_eq!(UserQuery::parse("SELECT 1", None).unwrap().rows().len(), 1);
    }
}
