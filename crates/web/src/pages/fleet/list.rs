//! Long lists: a page of them at a time.

use maud::{Markup, html};

/// Rows of a page: a few hundred kilobytes.
pub const ROWS: usize = 200;

/// The head of a column: numbers stand at its right.
pub enum ListColumn<'n> {
    Text(&'n str),
    Number(&'n str),
}

/// A table that scrolls sideways by itself.
pub fn table(label: &str, columns: &[ListColumn<'_>], rows: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table.roomy {
                thead { tr {
                    @for column in columns {
                        @match column {
                            ListColumn::Text(head) => th scope="col" { (head) },
                            ListColumn::Number(head) => th.number scope="col" { (head) },
                        }
                    }
                } }
                tbody { (rows) }
            }
        }
    }
}

/// The number of the last page, from 1.
pub fn last_page(count: usize) -> u32 {
    u32::try_from(count.div_ceil(ROWS)).unwrap_or(u32::MAX).max(1)
}

/// The rows of a page; of the last one if there are fewer pages.
pub fn rows_of<T>(all: &[T], page: u32) -> &[T] {
    let first = (page.clamp(1, last_page(all.len())) as usize - 1) * ROWS;
    &all[first..all.len().min(first + ROWS)]
}

/// Links to the other pages of `count` rows, if there are any.
pub fn pager(count: usize, page: u32, address: impl Fn(u32) -> String) -> Markup {
    let last = last_page(count);
    let page = page.clamp(1, last);
    html! {
        @if last > 1 {
            nav aria-label="Pages of this list" {
                ul.actions {
                    @if page > 1 {
                        li { a href=(address(1)) { "First" } }
                        li { a rel="prev" href=(address(page - 1)) { "Previous" } }
                    }
                    li { "page " (page) " of " (last) ", " (ROWS) " rows each" }
                    @if page < last {
                        li { a rel="next" href=(address(page + 1)) { "Next" } }
                        li { a href=(address(last)) { "Last" } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_on_one_page() {
        for count in [0, 1, ROWS - 1, ROWS, ROWS + 1, 5 * ROWS] {
            let all: Vec<usize> = (0..count).collect();
            let pages = (1..=last_page(count)).flat_map(|page| rows_of(&all, page)).copied();
            assert_eq!(pages.collect::<Vec<_>>(), all);
        }
        let all = vec![7; ROWS + 1];
        assert_eq!((rows_of(&all, 0).len(), rows_of(&all, u32::MAX).len()), (ROWS, 1));
    }
}
