//! Aligned columns without rules: empty columns vanish, flexible ones shrink until the table fits.

use crate::terminal::style::{Role, Style};
use crate::terminal::width::{clean, shorten, width};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alignment {
    Left,
    Right,
}

/// A column: alignment, spaces before it, and the width below which it does not shrink.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    alignment: Alignment,
    gap: usize,
    least: Option<usize>,
}

impl Column {
    /// Left-aligned text, two spaces after the column before it.
    pub(crate) const fn left() -> Self {
        Self { alignment: Alignment::Left, gap: 2, least: None }
    }
    pub(crate) const fn right() -> Self {
        Self { alignment: Alignment::Right, gap: 2, least: None }
    }
    /// Names that may be shortened, then columns of numbers: `count` columns together.
    pub(crate) fn names_and_numbers(count: usize) -> Vec<Self> {
        let mut columns = vec![Self::right(); count];
        columns[0] = Self::left().flexible(12);
        columns
    }
    pub(crate) const fn gap(self, gap: usize) -> Self {
        Self { gap, ..self }
    }
    /// Shortened in the middle down to `least` columns if the table is too wide.
    pub(crate) const fn flexible(self, least: usize) -> Self {
        Self { least: Some(least), ..self }
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct TextCell {
    text: String,
    role: Role,
}

impl TextCell {
    pub(crate) fn new(role: Role, text: impl AsRef<str>) -> Self {
        Self { text: clean(text.as_ref()).into_owned(), role }
    }
    pub(crate) fn plain(text: impl AsRef<str>) -> Self {
        Self::new(Role::Plain, text)
    }
    pub(crate) fn dim(text: impl AsRef<str>) -> Self {
        Self::new(Role::Dim, text)
    }
    pub(crate) fn title(text: impl AsRef<str>) -> Self {
        Self::new(Role::Title, text)
    }
    pub(crate) fn blank() -> Self {
        Self::default()
    }
}

#[derive(Debug, Clone)]
pub(crate) struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<TextCell>>,
    indent: usize,
    is_whole: bool,
}

impl TextTable {
    pub(crate) fn new(indent: usize, columns: Vec<Column>) -> Self {
        Self { columns, rows: Vec::new(), indent, is_whole: false }
    }

    /// The same, of which nothing is cut.
    pub(crate) fn whole(self) -> Self {
        Self { is_whole: true, ..self }
    }

    /// Each column begins with its head.
    pub(crate) fn of_columns(layout: Vec<Column>, columns: Vec<Vec<TextCell>>) -> Self {
        let mut table = Self::new(0, layout);
        let rows = columns.iter().map(Vec::len).max().unwrap_or(0);
        let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
        for _ in 0..rows {
            let fields = columns.iter_mut().map(|column| column.next().unwrap_or_default());
            table.row(fields.collect());
        }
        table
    }

    pub(crate) fn with_heads(columns: Vec<Column>, title: &str, heads: &[&str]) -> Self {
        let mut table = Self::new(0, columns);
        let heads = heads.iter().map(TextCell::dim);
        table.row(std::iter::once(TextCell::title(title)).chain(heads).collect());
        table
    }

    /// The first of these tables that fits, else the last one.
    pub(crate) fn first_fitting(tables: impl IntoIterator<Item = Self>, style: Style) -> String {
        let mut tables = tables.into_iter().peekable();
        while let Some(table) = tables.next() {
            if table.fits(style) || tables.peek().is_none() {
                return table.render(style);
            }
        }
        String::new()
    }

    /// Extra fields are dropped, missing ones are blank.
    pub(crate) fn row(&mut self, mut cells: Vec<TextCell>) {
        cells.resize_with(self.columns.len(), TextCell::default);
        self.rows.push(cells);
    }

    /// Whether it fits without shortening fields that are not flexible, and without narrower gaps.
    pub(crate) fn fits(&self, style: Style) -> bool {
        let least = |(column, natural): (&Column, usize)| {
            column.least.filter(|_| !style.is_whole).map_or(natural, |least| least.min(natural))
        };
        let widths: Vec<usize> = self.columns.iter().zip(self.natural()).map(least).collect();
        self.total(&widths) <= style.columns
    }

    fn natural(&self) -> Vec<usize> {
        (0..self.columns.len())
            .map(|c| self.rows.iter().map(|row| width(&row[c].text)).max().unwrap_or(0))
            .collect()
    }

    fn total(&self, widths: &[usize]) -> usize {
        let mut total = self.indent;
        let mut first = true;
        for (column, columns_width) in self.columns.iter().zip(widths) {
            if *columns_width > 0 {
                total += columns_width + if first { 0 } else { column.gap };
                first = false;
            }
        }
        total
    }

    /// Narrows the widest flexible column, one character at a time.
    fn shrink(
        &self,
        widths: &mut [usize],
        columns: usize,
        least: impl Fn(&Column) -> Option<usize>,
    ) {
        while self.total(widths) > columns {
            let widest = (0..widths.len())
                .filter(|c| least(&self.columns[*c]).is_some_and(|least| widths[*c] > least))
                .max_by_key(|c| widths[*c]);
            match widest {
                Some(c) => widths[c] -= 1,
                None => return,
            }
        }
    }

    /// Narrows the gaps between columns, the widest first, before anything is cut.
    fn close_up(&mut self, widths: &[usize], columns: usize) {
        while self.total(widths) > columns {
            match self.columns.iter_mut().filter(|column| column.gap > 1).max_by_key(|c| c.gap) {
                Some(column) => column.gap -= 1,
                None => return,
            }
        }
    }

    /// The lines, each ended with a newline, none too wide unless it is whole; a row of blanks has none.
    pub(crate) fn render(&self, style: Style) -> String {
        let mut widths = self.natural();
        if style.is_whole || self.is_whole {
            return self.render_close(&widths, style);
        }
        self.shrink(&mut widths, style.columns, |column| column.least);
        let mut close = self.clone();
        close.close_up(&widths, style.columns);
        // Absurd values only: even a number is cut visibly rather than breaking the line.
        close.shrink(&mut widths, style.columns, |_| Some(1));
        close.render_close(&widths, style)
    }

    fn render_close(&self, widths: &[usize], style: Style) -> String {
        let mut out = String::new();
        let shows = |cell: &TextCell| !cell.text.trim_matches(' ').is_empty();
        for row in self.rows.iter().filter(|row| row.iter().any(shows)) {
            self.line(&mut out, row, widths, style);
        }
        out
    }

    fn line(&self, out: &mut String, row: &[TextCell], widths: &[usize], style: Style) {
        let mut pending = self.indent;
        let mut first = true;
        for (c, cell) in row.iter().enumerate().filter(|(c, _)| widths[*c] > 0) {
            let column = &self.columns[c];
            pending += if first { 0 } else { column.gap };
            first = false;
            let text = shorten(&cell.text, widths[c]);
            // Aligned figures end with padding of their own; it must not trail the line.
            let trimmed = text.trim_end_matches(' ');
            if trimmed.is_empty() {
                pending += widths[c];
                continue;
            }
            let padding = widths[c] - width(&text);
            let (before, after) = match column.alignment {
                Alignment::Left => (0, padding),
                Alignment::Right => (padding, 0),
            };
            out.extend(std::iter::repeat_n(' ', pending + before));
            style.paint(out, cell.role, trimmed);
            pending = after + text.len() - trimmed.len();
        }
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::width::WIDTH;
    use proptest::prelude::*;

    #[test]
    fn columns_align_empty_ones_vanish_and_nothing_trails() {
        let mut table = TextTable::new(
            0,
            vec![Column::left(), Column::right(), Column::left(), Column::right()],
        );
        table.row(vec![
            TextCell::title("test"),
            TextCell::dim("time"),
            TextCell::blank(),
            TextCell::dim("reads"),
        ]);
        table.row(vec![
            TextCell::plain("transfer"),
            TextCell::plain("41 s"),
            TextCell::blank(),
            TextCell::plain("4.20 GB"),
        ]);
        table.row(vec![TextCell::plain("latency"), TextCell::plain("8 s")]);
        insta::assert_snapshot!(table.render(Style::default()), @r"
        test      time    reads
        transfer  41 s  4.20 GB
        latency    8 s
        ");
    }

    #[test]
    fn flexible_columns_shrink_before_others() {
        let mut table = TextTable::new(2, vec![Column::left(), Column::left().flexible(8)]);
        table.row(vec![TextCell::plain("a".repeat(40)), TextCell::plain("b".repeat(70))]);
        let out = table.render(Style::default());
        assert_eq!(width(out.trim_end()), WIDTH);
        assert!(out.contains(&"a".repeat(40)), "{out}");
    }

    proptest! {
        #[test]
        fn any_table_fits(rows in proptest::collection::vec(
            proptest::collection::vec(any::<String>(), 0..9), 0..6))
        {
            let column = |i| if i % 2 == 0 { Column::left() } else { Column::right() };
            let mut table = TextTable::new(2, (0..8).map(column).collect());
            for row in rows {
                table.row(row.iter().map(TextCell::plain).collect());
            }
            for line in table.render(Style::default()).lines() {
                prop_assert!(width(line) <= WIDTH, "{:?}", line);
            }
        }
    }
}
