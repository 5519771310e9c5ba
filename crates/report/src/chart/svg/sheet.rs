//! A chart that stands alone, in an article or a message: its title, drives and origin are inside the picture.

use super::element::{SvgText, number};
use super::{PictureSize, Theme, draw_plot, moved_to, open_picture};
use crate::chart::Chart;
use crate::chart::text_box::{line_height, text_width};

/// Where a chart comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartImprint {
    /// Each as `WDC WD40EFRX (4.00 TB, simulated)`.
    pub drives: Vec<String>,
    /// The day, or the first and the last.
    pub date: String,
    /// Suite, program and version.
    pub method: String,
}

const TITLE_TYPE: f64 = 16.0;
const DRIVES_TYPE: f64 = 12.0;
const SMALL_TYPE: f64 = 11.0;
const MARGIN: f64 = 8.0;
/// Widths of texts are those of bold type; regular type is narrower.
const REGULAR_SLACK: f64 = 0.9;
/// More drives are counted, not named: charts of many name them in their rows.
const DRIVES_NAMED: usize = 6;

#[derive(Debug, Clone)]
struct SheetLine {
    words: String,
    size: f64,
    class: &'static str,
    is_bold: bool,
}

/// The chart as an SVG document with its [`ChartImprint`] around it, as wide as the chart alone.
pub fn exported_svg(chart: &Chart, imprint: &ChartImprint, theme: Theme) -> String {
    let plot = PictureSize::WIDE.fitting(chart);
    let room = f64::from(plot.width) - 2.0 * MARGIN;
    let drives = drives(imprint);
    // One drive is a headline of its own; a list of them is not.
    let is_one = imprint.drives.len() == 1;
    let head = [
        lines(&chart.title, TITLE_TYPE, "text", true, room),
        lines(&drives, DRIVES_TYPE, "text", is_one, room),
        lines(&chart.caption, SMALL_TYPE, "muted", false, room),
    ]
    .concat();
    let made = [imprint.date.as_str(), &imprint.method];
    let made: Vec<&str> = made.into_iter().filter(|part| !part.is_empty()).collect();
    let foot = lines(&made.join(" · "), SMALL_TYPE, "muted", false, room);
    let plot_top = (MARGIN + height_of(&head) + MARGIN).ceil();
    let foot_top = plot_top + f64::from(plot.height);
    let height = (foot_top + height_of(&foot) + MARGIN).ceil() as u32;
    let mut out = SvgText::default();
    let title = format!("{} – {drives}", chart.title);
    open_picture(chart, &title, PictureSize { height, ..plot }, theme, &[], &mut out);
    draw_lines(&head, MARGIN, &mut out);
    out.open("g", &[("transform", &moved_to(0.0, plot_top))]);
    draw_plot(chart, plot, theme, &mut out);
    out.close("g");
    draw_lines(&foot, foot_top, &mut out);
    out.close("svg");
    out.finish()
}

fn height_of(lines: &[SheetLine]) -> f64 {
    lines.iter().map(|line| line_height(line.size)).sum()
}

fn drives(imprint: &ChartImprint) -> String {
    let named = imprint.drives.iter().take(DRIVES_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match imprint.drives.len().saturating_sub(DRIVES_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn draw_lines(lines: &[SheetLine], mut top: f64, out: &mut SvgText) {
    for line in lines {
        let baseline = top + line_height(line.size) / 2.0 + line.size * 0.35;
        let attributes = [
            ("class", line.class),
            ("x", &number(MARGIN)),
            ("y", &number(baseline)),
            ("font-size", &number(line.size)),
            ("font-weight", if line.is_bold { "600" } else { "400" }),
            ("text-anchor", "start"),
        ];
        out.with_text("text", &attributes, &line.words);
        top += line_height(line.size);
    }
}

/// The words in as many lines as they need; a word wider than a line is broken.
fn lines(text: &str, size: f64, class: &'static str, is_bold: bool, room: f64) -> Vec<SheetLine> {
    let slack = if is_bold { 1.0 } else { REGULAR_SLACK };
    let fits = |words: &str| text_width(words, size) * slack <= room;
    let mut wrapped: Vec<String> = Vec::new();
    // A no-break space keeps a number beside its unit.
    for word in text.split([' ', '\t', '\n']).filter(|word| !word.is_empty()) {
        match wrapped.last_mut() {
            Some(line) if fits(&format!("{line} {word}")) => {
                line.push(' ');
                line.push_str(word);
            }
            _ => wrapped.push(String::new()),
        }
        let line = wrapped.last_mut().filter(|line| line.is_empty());
        let Some(mut line) = line else { continue };
        for letter in word.chars() {
            if !line.is_empty() && !fits(&format!("{line}{letter}")) {
                wrapped.push(String::new());
                line = wrapped.last_mut().expect("a line was added");
            }
            line.push(letter);
        }
    }
    wrapped.into_iter().map(|words| SheetLine { words, size, class, is_bold }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::every_chart;
    use crate::testing::{hard_disk, must_have};

    fn imprint(drives: &[&str]) -> ChartImprint {
        ChartImprint {
            drives: drives.iter().map(ToString::to_string).collect(),
            date: "2026-11-29".to_string(),
            method: "suite quick · drivescope 0.1.0".to_string(),
        }
    }

    fn chart() -> Chart {
        hard_disk().tests.iter().flat_map(every_chart).next().unwrap()
    }

    #[test]
    fn exported_chart_names_drive_date_and_program() {
        fn words(text: &str) -> String {
            format!(">{text}</text>")
        }
        let chart = chart();
        let picture = exported_svg(&chart, &imprint(&["WDC (4.00 TB, simulated)"]), Theme::System);
        must_have(
            &picture,
            &[
                &words(&chart.title),
                &words("WDC (4.00 TB, simulated)"),
                &words("2026-11-29 · suite quick · drivescope 0.1.0"),
                &format!("<title>{} – WDC", chart.title),
            ],
        );
        let in_page = super::super::svg(&chart, PictureSize::WIDE, Theme::Page);
        assert!(!in_page.contains(&words(&chart.title)) && !in_page.contains("2026-11-29"));
    }

    #[test]
    fn long_names_stay_within_the_picture() {
        let long = "W".repeat(300);
        let picture = exported_svg(&chart(), &imprint(&[&long, "b", &long]), Theme::Light);
        let room = f64::from(PictureSize::WIDE.width);
        for line in picture.lines().filter(|line| line.contains("<text ")) {
            let words = line.rsplit_once("</text>").unwrap().0.rsplit_once('>').unwrap().1;
            let words = &words.replace("&#39;", "'");
            let size = line.split("font-size=\"").nth(1).unwrap().split('"').next().unwrap();
            let slack = if line.contains("\"400\"") { REGULAR_SLACK } else { 1.0 };
            assert!(text_width(words, size.parse().unwrap()) * slack < room, "{line}");
        }
        assert_eq!(picture.matches('W').count(), 600 * 2, "in the title and in the picture");
    }

    #[test]
    fn twenty_drives_are_counted() {
        let names: Vec<String> = (0..20).map(|i| format!("drive-{i}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert!(drives(&imprint(&names)).ends_with("drive-5 and 14 more"));
    }
}
