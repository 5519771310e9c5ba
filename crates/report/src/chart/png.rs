//! A chart as PNG. Its texts become outlines of a font that drivescope carries, so that a picture has the same bytes on
//! every machine, whatever fonts are installed there.

use super::{Chart, ChartImprint, Theme, exported_svg};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const SCALE: u32 = 2;

/// The chart as a PNG file, standing alone, at twice the pixels of its units. An error is a fault of this program.
pub fn png(chart: &Chart, imprint: &ChartImprint, theme: Theme) -> Result<Vec<u8>, String> {
    fn side(units: f32) -> u32 {
        units as u32 * SCALE
    }
    let picture = outlined(&exported_svg(chart, imprint, theme));
    let tree = Tree::from_str(&picture, &Options::default()).map_err(|error| error.to_string())?;
    let pixels = Pixmap::new(side(tree.size().width()), side(tree.size().height()));
    let mut pixels = pixels.ok_or("a picture without pixels")?;
    let scale = SCALE as f32;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}

/// Face, letter in hexadecimal digits, advance, outline: made of DejaVu Sans by `fonts/glyphs.py`.
const GLYPHS: &str = include_str!("../../fonts/glyphs.tsv");
const UNITS_PER_EM: f32 = 2048.0;
/// The glyph of letters that the font does not have.
const MISSING: char = '\0';

/// Advance and outline in units of the font, which count upwards.
type Glyph = (f32, &'static str);
/// Whether they are bold, and the letter.
type Glyphs = BTreeMap<(bool, char), Glyph>;

fn glyphs() -> Glyphs {
    let glyph = |line: &'static str| {
        let mut fields = line.split('\t');
        let (face, letter) = (fields.next()?, fields.next()?);
        let letter = char::from_u32(u32::from_str_radix(letter, 16).ok()?)?;
        Some(((face == "bold", letter), (fields.next()?.parse().ok()?, fields.next()?)))
    };
    GLYPHS.lines().filter_map(glyph).collect()
}

/// The picture with its texts as paths. It must be drawn by [`exported_svg`]: `<text …>words</text>` on one line.
fn outlined(picture: &str) -> String {
    let glyphs = glyphs();
    let mut out = String::with_capacity(picture.len() * 2);
    for line in picture.lines() {
        match line.find("<text ").and_then(|at| Some((at, outline(&line[at..], &glyphs)?))) {
            // What stands before a text on its line is an element of its own.
            Some((at, path)) => out.extend([&line[..at], &path]),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// The path of one text; `None` for other elements.
fn outline(element: &str, glyphs: &Glyphs) -> Option<String> {
    let (head, rest) = element.strip_prefix("<text ")?.split_once('>')?;
    let words = unescaped(rest.strip_suffix("</text>")?);
    let attribute = |name: &str| {
        let (_, rest) = head.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0)
    };
    let number = |name: &str| attribute(name)?.parse::<f32>().ok();
    let (x, y, size) = (number("x")?, number("y")?, number("font-size")?);
    let is_bold = head.contains("font-weight=\"600\"");
    let scale = size / UNITS_PER_EM;
    let glyph = |letter: char| {
        let found = glyphs.get(&(is_bold, letter)).or_else(|| glyphs.get(&(is_bold, MISSING)));
        found.copied().unwrap_or_default()
    };
    let width: f32 = words.chars().map(|letter| glyph(letter).0 * scale).sum();
    let mut pen = match attribute("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    let mut path = String::new();
    for letter in words.chars() {
        let (advance, outline) = glyph(letter);
        place(&mut path, outline, (pen, y), scale);
        pen += advance * scale;
    }
    let class = attribute("class").unwrap_or_default();
    let fill = if class == "ground-text" { "" } else { " fill=\"currentColor\"" };
    Some(format!("<path class=\"{class}\"{fill} d=\"{path}\"/>"))
}

fn unescaped(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_string(), |text, (escaped, plain)| text.replace(escaped, plain))
}

/// Adds an outline, scaled, with its beginning at `(x, y)`; pictures count downwards.
fn place(path: &mut String, outline: &str, (x, y): (f32, f32), scale: f32) {
    let mut is_across = true;
    for part in outline.split(' ') {
        let _ = match part.parse::<f32>() {
            Ok(units) if is_across => write!(path, "{:.2} ", x + units * scale),
            Ok(units) => write!(path, "{:.2} ", y - units * scale),
            Err(_) => {
                path.push_str(part);
                continue;
            }
        };
        is_across = !is_across;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{hard_disk, hard_disk_surface};
    use crate::{every_chart, imprint_of};

    fn all_charts() -> Vec<Chart> {
        let mut results = hard_disk().tests;
        results.push(hard_disk_surface());
        results.iter().flat_map(every_chart).collect()
    }

    #[test]
    fn only_texts_become_outlines() {
        for chart in all_charts() {
            fn paths(text: &str) -> usize {
                text.matches("<path ").count()
            }
            let picture = exported_svg(&chart, &imprint_of(&[hard_disk()]), Theme::Light);
            let outlined = outlined(&picture);
            assert!(picture.contains("<text ") && !outlined.contains("<text "), "{}", chart.name);
            let texts = picture.matches("<text ").count();
            assert_eq!(paths(&outlined), paths(&picture) + texts, "{}", chart.name);
        }
    }

    #[test]
    fn picture_has_two_pixels_per_unit_and_its_theme() {
        fn corner(picture: &Pixmap) -> u8 {
            picture.pixel(0, 0).unwrap().red()
        }
        let chart = all_charts().swap_remove(0);
        let imprint = imprint_of(&[hard_disk()]);
        let drawn = |theme| png(&chart, &imprint, theme).unwrap();
        let light = drawn(Theme::Light);
        assert_eq!(light, drawn(Theme::Light));
        let dark = Pixmap::decode_png(&drawn(Theme::Dark)).unwrap();
        let light = Pixmap::decode_png(&light).unwrap();
        assert!(light.width() == 1_240 && light.height() > 300, "{}", light.height());
        assert_eq!((corner(&light), corner(&dark)), (0xff, 0x14));
        // Grid, marks and letters: more than a ground.
        let inked = light.pixels().iter().filter(|pixel| pixel.red() < 0xc0).count();
        assert!(inked > 2_000, "{inked}");
    }

    #[test]
    fn marks_of_markup_are_letters_again() {
        assert_eq!(unescaped("&lt;b&gt; &amp;amp; &#39;x&#39;"), "<b> &amp; 'x'");
    }
}
