//! From words to an expression: `not` binds closest, then `and`, then `or`.

use super::fields::{FIELDS, Field, NumberField, TextField};
use super::words::{PlacedWord, Word, words};
use super::{Condition, Expression, Relation, SelectorError, Wanted};
use drivescope_model::drive::DriveKind;
use drivescope_model::nearest::nearest;
use regex_lite::{Regex, RegexBuilder};

/// Parentheses and `not` within each other; each takes room on the stack.
const DEPTH_MAX: usize = 50;
/// Bytes that a compiled pattern may take: a thousand times what usual ones take.
const PATTERN_MAX: usize = 1 << 20;
/// Letters of a foreign word in a message.
const SHOWN_MAX: usize = 40;

pub(super) fn parse(text: &str) -> Result<Expression, SelectorError> {
    let mut parser = Parser { words: words(text)?, at: 0 };
    let expression = parser.any(0)?;
    match parser.peek() {
        Word::End => Ok(expression),
        _ => Err(parser.expected("and, or, or the end")),
    }
}

struct Parser {
    /// The last one is [`Word::End`].
    words: Vec<PlacedWord>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> &Word {
        &self.words[self.at].word
    }

    fn column(&self) -> usize {
        self.words[self.at].column
    }

    /// The end stays.
    fn next(&mut self) -> PlacedWord {
        let word = self.words[self.at].clone();
        self.at = (self.at + 1).min(self.words.len() - 1);
        word
    }

    fn take(&mut self, word: &Word) -> bool {
        let is_next = self.peek() == word;
        if is_next {
            self.next();
        }
        is_next
    }

    fn expected(&self, what: &str) -> SelectorError {
        let message = format!("expected {what}, found {}", shown(self.peek()));
        SelectorError { column: self.column(), message }
    }

    fn any(&mut self, depth: usize) -> Result<Expression, SelectorError> {
        let mut parts = vec![self.all(depth)?];
        while self.take(&Word::Or) {
            parts.push(self.all(depth)?);
        }
        Ok(one_or(parts, Expression::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Expression, SelectorError> {
        let mut parts = vec![self.one(depth)?];
        while self.take(&Word::And) {
            parts.push(self.one(depth)?);
        }
        Ok(one_or(parts, Expression::All))
    }

    fn one(&mut self, depth: usize) -> Result<Expression, SelectorError> {
        if depth > DEPTH_MAX {
            let message = format!("nested too deeply: {DEPTH_MAX} levels at most");
            return Err(SelectorError { column: self.column(), message });
        }
        if self.take(&Word::Not) {
            return Ok(Expression::Not(Box::new(self.one(depth + 1)?)));
        }
        if self.take(&Word::Open) {
            let inner = self.any(depth + 1)?;
            return if self.take(&Word::Close) { Ok(inner) } else { Err(self.expected("')'")) };
        }
        match self.peek().clone() {
            Word::Bare(name) => self.condition(&name).map(Expression::Test),
            _ => Err(self.expected("a field, not, or '('")),
        }
    }

    fn condition(&mut self, name: &str) -> Result<Condition, SelectorError> {
        let Some(field) = Field::named(name) else { return Err(self.unknown_field(name)) };
        self.next();
        if field == Field::There && !matches!(self.peek(), Word::Operator(_)) {
            return Ok(Condition::IsThere(true));
        }
        let column = self.column();
        let Word::Operator(operator) = *self.peek() else {
            return Err(self.expected("one of = != =~ !~ < <= > >="));
        };
        self.next();
        let placed = self.next();
        let (Word::Bare(value) | Word::Quoted(value)) = &placed.word else {
            let message = format!("expected a value, found {}", shown(&placed.word));
            return Err(SelectorError { column: placed.column, message });
        };
        let fault = |column, message| SelectorError { column, message };
        let wrong_operator = |kind: &str, fitting: &str| {
            let name = field.name();
            fault(column, format!("{name} is {kind}: compare it with {fitting}"))
        };
        match field {
            Field::Text(field) => {
                let (is_pattern, is_negated) = match operator {
                    "=" => (false, false),
                    "!=" => (false, true),
                    "=~" => (true, false),
                    "!~" => (true, true),
                    _ => return Err(wrong_operator("a text", "= != =~ !~")),
                };
                let wanted = wanted(field, value, is_pattern);
                let wanted = wanted.map_err(|message| fault(placed.column, message))?;
                Ok(Condition::Text { field, wanted, is_negated })
            }
            Field::Number(field) => {
                let Some(relation) = relation(operator) else {
                    return Err(wrong_operator("a number", "= != < <= > >="));
                };
                let than = number(field, value);
                let than = than.map_err(|message| fault(placed.column, message))?;
                Ok(Condition::Number { field, relation, than })
            }
            Field::There => {
                let is_yes = match value.to_ascii_lowercase().as_str() {
                    "yes" | "true" => true,
                    "no" | "false" => false,
                    _ => return Err(fault(placed.column, "expected yes or no".to_string())),
                };
                match operator {
                    "=" => Ok(Condition::IsThere(is_yes)),
                    "!=" => Ok(Condition::IsThere(!is_yes)),
                    _ => Err(wrong_operator("yes or no", "= !=")),
                }
            }
        }
    }

    fn unknown_field(&self, name: &str) -> SelectorError {
        let names = FIELDS.map(|(name, _)| name);
        let hint = match nearest(name, names.into_iter()) {
            Some(near) => format!(" (did you mean '{near}'?)"),
            None => String::new(),
        };
        let message = format!("no field '{}'{hint}; fields: {}", shortened(name), names.join(", "));
        SelectorError { column: self.column(), message }
    }
}

fn one_or(mut parts: Vec<Expression>, several: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.len() {
        1 => parts.remove(0),
        _ => several(parts),
    }
}

fn relation(operator: &str) -> Option<Relation> {
    Some(match operator {
        "=" => Relation::Same,
        "!=" => Relation::Other,
        "<" => Relation::Less,
        "<=" => Relation::AtMost,
        ">" => Relation::More,
        ">=" => Relation::AtLeast,
        _ => return None,
    })
}

fn number(field: NumberField, value: &str) -> Result<f64, String> {
    if value.chars().count() > SHOWN_MAX {
        return Err(format!("'{}' is not a number", shortened(value)));
    }
    field.parse(value).map_err(|why| format!("{}: {why}", field.name()))
}

fn wanted(field: TextField, value: &str, is_pattern: bool) -> Result<Wanted, String> {
    if is_pattern {
        return pattern(value).map(Wanted::Pattern);
    }
    let names = DriveKind::ALL.map(DriveKind::name);
    if field == TextField::Kind && !names.iter().any(|name| name.eq_ignore_ascii_case(value)) {
        return Err(format!("no kind '{}'; kinds: {}", shortened(value), names.join(", ")));
    }
    Ok(Wanted::Same(value.trim().to_lowercase()))
}

fn pattern(text: &str) -> Result<Regex, String> {
    let compile = |text: &str| {
        let mut builder = RegexBuilder::new(text);
        builder.case_insensitive(true).dot_matches_new_line(true).size_limit(PATTERN_MAX).build()
    };
    // By itself first: `a)(b` must not become right between the parentheses around it.
    let compiled = compile(text).and_then(|_| compile(&format!("^(?:{text})$")));
    compiled.map_err(|error| format!("the pattern cannot be used: {error}"))
}

fn shown(word: &Word) -> String {
    match word {
        Word::Open => "'('".to_string(),
        Word::Close => "')'".to_string(),
        Word::And => "'and'".to_string(),
        Word::Or => "'or'".to_string(),
        Word::Not => "'not'".to_string(),
        Word::Operator(operator) => format!("'{operator}'"),
        Word::Bare(text) => format!("'{}'", shortened(text)),
        Word::Quoted(text) => format!("\"{}\"", shortened(text)),
        Word::End => "the end".to_string(),
    }
}

fn shortened(text: &str) -> String {
    let mut letters = text.chars();
    let shown: String = letters.by_ref().take(SHOWN_MAX).collect();
    if letters.next().is_none() { shown } else { format!("{shown}…") }
}
