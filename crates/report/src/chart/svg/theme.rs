//! Colours and shapes. Contrast with the background is at least 4.5; a shape or a word always repeats a colour.

use crate::chart::plot::Ink;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Theme {
    /// The reader's system chooses.
    #[default]
    System,
    Light,
    Dark,
    /// The colours of the page around it, whose style sheet has `page_colours`, with values for its script.
    Page,
    /// Like `Page`, without values and with a sample of many dots: where many pictures share a page.
    FoldedPage,
}

const SERIES_COLOURS: usize = 5;

/// Class of the style sheet, colour in light, colour in dark.
const COLOURS: [(&str, &str, &str); 10] = [
    ("s0", "#0061a3", "#62b5f5"),
    ("s1", "#c24a00", "#ff8f50"),
    ("s2", "#008262", "#2cbf95"),
    ("s3", "#b5468f", "#f3a9df"),
    ("s4", "#343b42", "#d3d8dc"),
    ("bar", "#9aa2aa", "#6b747d"),
    ("text", "#16191c", "#e9ecef"),
    ("muted", "#59616a", "#a3abb3"),
    ("grid", "#e4e7ea", "#2a2f35"),
    ("range", "#c9ced3", "#444b53"),
];
/// Colours of verdicts, whose words repeat them: name, colour in light, colour in dark.
const JUDGED: [(&str, &str, &str); 3] = [
    ("good", "#0061a3", "#62b5f5"),
    ("limits", "#8f5e00", "#e0a93a"),
    ("bad", "#b23a1e", "#ff8a6b"),
];
const BACKGROUND: (&str, &str) = ("#ffffff", "#14171a");

/// What is the same in both themes. A class gives `color`; these use it.
const SHAPES: &str = "\
    text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:currentColor;\
    font-variant-numeric:tabular-nums}\
    .line{fill:none;stroke:currentColor;stroke-width:2;stroke-linejoin:round}\
    .fine{stroke-width:1;opacity:.45}.fill{fill:currentColor}\
    .rim{stroke-width:1}.dots{stroke-width:2.6;stroke-linecap:round;opacity:.5}\
    .open{stroke:currentColor;stroke-width:2}\
    .interval{stroke:currentColor;stroke-width:2.4;opacity:.5}\
    .strong{font-weight:650}.halo{paint-order:stroke;stroke-width:4;stroke-linejoin:round}\
    .rule{stroke:currentColor;stroke-width:1}\
    .band{fill:currentColor;opacity:.35}.level{stroke:currentColor;stroke-width:3}\
    .span{stroke:currentColor;stroke-width:7;stroke-linecap:round;opacity:.4}";

pub fn style_sheet(theme: Theme) -> String {
    let light = colours(false);
    match theme {
        Theme::Light => format!("{SHAPES}{light}"),
        Theme::Dark => format!("{SHAPES}{}", colours(true)),
        Theme::System => {
            format!(
                "{SHAPES}{light}@media screen and (prefers-color-scheme:dark){{{}}}",
                colours(true)
            )
        }
        Theme::Page | Theme::FoldedPage => String::new(),
    }
}

fn colours(is_dark: bool) -> String {
    let one = |(class, light, dark): (&str, &str, &str)| {
        format!(".{class}{{color:{}}}", if is_dark { dark } else { light })
    };
    let background = if is_dark { BACKGROUND.1 } else { BACKGROUND.0 };
    let ground =
        format!(".ground,.open,.ground-text{{fill:{background}}}.rim,.halo{{stroke:{background}}}");
    COLOURS.into_iter().map(one).collect::<String>() + &ground
}

/// The style sheet of a page: that of its charts, and their colours for its text and rules.
pub fn page_colours() -> String {
    fn page(is_dark: bool) -> String {
        let of = |(light, dark): (&'static str, &'static str)| if is_dark { dark } else { light };
        let colour = |class: &str| {
            let found = COLOURS.iter().find(|colour| colour.0 == class);
            of(found.map_or(BACKGROUND, |(_, light, dark)| (*light, *dark)))
        };
        let judged = JUDGED.map(|(name, light, dark)| format!("--{name}:{};", of((light, dark))));
        let (grid, off, text, ground) =
            (colour("grid"), colour("range"), colour("text"), of(BACKGROUND));
        format!(
            ":root{{--grid:{grid};--off:{off};{}--ground:{ground};color:{text};background:{ground}}}\
             .tip{{background:{ground}}}",
            judged.concat()
        )
    }
    let (light, dark) = (page(false), page(true));
    format!(
        "{}{light}@media screen and (prefers-color-scheme:dark){{{dark}}}",
        style_sheet(Theme::System)
    )
}

pub fn class(ink: Ink) -> &'static str {
    match ink {
        Ink::Series(i) => COLOURS[i % SERIES_COLOURS].0,
        Ink::Text => "text",
        Ink::Muted => "muted",
        Ink::Range => "bar",
    }
}

/// The outline of the mark of an ink, 9 px across, as an SVG path around the origin.
pub fn mark_path(ink: Ink) -> &'static str {
    match ink {
        Ink::Series(i) if i % SERIES_COLOURS == 1 => "M-4 -4H4V4H-4Z",
        Ink::Series(i) if i % SERIES_COLOURS == 2 => "M0 -5.4L5.4 0L0 5.4L-5.4 0Z",
        Ink::Series(i) if i % SERIES_COLOURS == 3 => "M0 -5L5 4H-5Z",
        Ink::Series(i) if i % SERIES_COLOURS == 4 => "M0 5L5 -4H-5Z",
        _ => "M4.5 0A4.5 4.5 0 1 1 -4.5 0A4.5 4.5 0 1 1 4.5 0Z",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Contrast of two colours `#rrggbb` after WCAG 2.1.
    fn contrast(a: &str, b: &str) -> f64 {
        fn luminance(colour: &str) -> f64 {
            let channel = |at: usize| {
                let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
        }
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_contrasts_with_its_background() {
        for (class, light, dark) in COLOURS.into_iter().chain(JUDGED) {
            if !["bar", "grid", "range"].contains(&class) {
                assert!(contrast(light, BACKGROUND.0) >= 4.5, "{class} in light");
                assert!(contrast(dark, BACKGROUND.1) >= 4.5, "{class} in dark");
            }
        }
    }

    #[test]
    fn every_series_has_its_colour_and_shape() {
        for a in 0..SERIES_COLOURS {
            for b in 0..a {
                assert_ne!(class(Ink::Series(a)), class(Ink::Series(b)));
                assert_ne!(mark_path(Ink::Series(a)), mark_path(Ink::Series(b)));
            }
        }
    }
}
