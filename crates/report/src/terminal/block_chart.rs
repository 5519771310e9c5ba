//! A curve drawn with block characters, its axis from zero.

use crate::terminal::style::{Role, Style};
use crate::terminal::width::{shorten, width};
use drivescope_model::number::rounded;

const LABEL_COLUMNS: usize = 20;
/// Lines of a chart: 32 levels show zones and dents.
const LINES: usize = 4;
/// Eighths of a character cell.
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(crate) const fn chart_columns(style: Style) -> usize {
    style.columns - LABEL_COLUMNS
}

/// Means of `values` in `columns` groups of (nearly) equal size; a short series is stretched. Only finite values count.
fn column_means(values: &[f64], columns: usize) -> Vec<f64> {
    let values: Vec<f64> = values.iter().copied().filter(|v| v.is_finite() && *v >= 0.0).collect();
    let n = values.len();
    if n == 0 {
        return Vec::new();
    }
    (0..columns)
        .map(|column| {
            let from = column * n / columns;
            let to = ((column + 1) * n / columns).max(from + 1);
            let group = &values[from..to];
            group.iter().sum::<f64>() / group.len() as f64
        })
        .collect()
}

/// `LINES` lines of blocks with the largest value and zero at the left, then a line with the labels of both ends. Empty
/// when there is nothing above zero.
pub(crate) fn block_chart(values: &[f64], [start, end]: [&str; 2], style: Style) -> String {
    let columns = column_means(values, chart_columns(style));
    let top = columns.iter().copied().fold(0.0, f64::max);
    if top <= 0.0 || !top.is_finite() {
        return String::new();
    }
    let label = rounded(top);
    let margin = width(&label) + 2;
    let mut out = String::new();
    for line in (0..LINES).rev() {
        let name = match line {
            line if line == LINES - 1 => label.as_str(),
            0 => "0",
            _ => "",
        };
        out.push_str(&" ".repeat(2 + margin - 2 - width(name)));
        style.paint(&mut out, Role::Dim, name);
        out.push_str("  ");
        let blocks: String = columns.iter().map(|value| block(value / top, line)).collect();
        out.push_str(blocks.trim_end());
        out.push('\n');
    }
    let end = shorten(end, chart_columns(style));
    let gap = chart_columns(style).saturating_sub(width(start) + width(&end));
    out.push_str(&" ".repeat(2 + margin));
    style.paint(&mut out, Role::Dim, &format!("{start}{}{end}", " ".repeat(gap)));
    out.push('\n');
    out
}

/// The part of a bar of height `share` (0–1) within `line`, counted from the bottom.
fn block(share: f64, line: usize) -> char {
    let eighths = (share * (LINES * 8) as f64).round() as usize;
    BLOCKS[eighths.saturating_sub(line * 8).min(8)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_mean_and_stretch_short_series() {
        let long: Vec<f64> = (0..60 * 4).map(|i| i as f64).collect();
        let groups = column_means(&long, 60);
        assert_eq!(groups.len(), 60);
        assert_eq!(groups[0], 1.5);
        assert_eq!(groups.iter().sum::<f64>() * 4.0, long.iter().sum::<f64>());
        assert_eq!(column_means(&[7.0, f64::NAN], 60), vec![7.0; 60]);
        assert!(column_means(&[], 60).is_empty());
    }

    #[test]
    fn bars_begin_at_zero() {
        fn column(share: f64) -> String {
            (0..LINES).map(|line| block(share, line)).collect()
        }
        assert_eq!(column(1.0), "████");
        assert_eq!(column(0.5), "██  ");
        assert_eq!(column(0.53), "██▁ ");
        assert_eq!(column(0.0), "    ");
    }

    #[test]
    fn nothing_is_drawn_without_values() {
        assert_eq!(block_chart(&[0.0, f64::NAN], ["a", "b"], Style::default()), "");
    }
}
