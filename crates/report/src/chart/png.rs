//! A chart as PNG. Its texts become outlines of a font that drivescope carries, so that a picture has the same bytes on
//! every machine, whatever fonts are installed there.

use super::{Chart, ChartImprint, Theme, exported_svg};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::fmt::Write as _;
use ttf_parser::{Face, OutlineBuilder};

const SCALE: u32 = 2;

/// The chart as a PNG file, standing alone, at twice the pixels of its units. An error is a fault of this program.
pub fn png(chart: &Chart, imprint: &ChartImprint, theme: Theme) -> Result<Vec<u8>, String> {
    let picture = outlined(&exported_svg(chart, imprint, theme))?;
    let tree = Tree::from_str(&picture, &Options::default()).map_err(|error| error.to_string())?;
    let side = |units: f32| units as u32 * SCALE;
    let pixels = Pixmap::new(side(tree.size().width()), side(tree.size().height()));
    let mut pixels = pixels.ok_or("a picture without pixels")?;
    let scale = SCALE as f32;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}

struct Fonts {
    regular: Face<'static>,
    bold: Face<'static>,
}

/// The picture with its texts as paths. It must be drawn by [`exported_svg`]: `<text …>words</text>` on one line.
fn outlined(picture: &str) -> Result<String, String> {
    let face = |data: &'static [u8]| Face::parse(data, 0).map_err(|error| error.to_string());
    let fonts = Fonts {
        regular: face(include_bytes!("../../fonts/DejaVuSans-latin.ttf"))?,
        bold: face(include_bytes!("../../fonts/DejaVuSans-Bold-latin.ttf"))?,
    };
    let mut out = String::with_capacity(picture.len() * 2);
    for line in picture.lines() {
        match line.find("<text ").and_then(|at| Some((at, outline(&line[at..], &fonts)?))) {
            // What stands before a text on its line is an element of its own.
            Some((at, path)) => out.extend([&line[..at], &path]),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    Ok(out)
}

/// The path of one text; `None` for other elements.
fn outline(element: &str, fonts: &Fonts) -> Option<String> {
    let (head, rest) = element.strip_prefix("<text ")?.split_once('>')?;
    let words = unescaped(rest.strip_suffix("</text>")?);
    let attribute = |name: &str| {
        let (_, rest) = head.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0)
    };
    let number = |name: &str| attribute(name)?.parse::<f32>().ok();
    let (x, y, size) = (number("x")?, number("y")?, number("font-size")?);
    let face = if head.contains("font-weight=\"600\"") { &fonts.bold } else { &fonts.regular };
    let scale = size / f32::from(face.units_per_em());
    let advance = |letter: char| {
        let glyph = face.glyph_index(letter).unwrap_or_default();
        (glyph, f32::from(face.glyph_hor_advance(glyph).unwrap_or(0)) * scale)
    };
    let width: f32 = words.chars().map(|letter| advance(letter).1).sum();
    let mut pen = match attribute("text-anchor") {
        Some("middle") => x - width / 2.0,
        Some("end") => x - width,
        _ => x,
    };
    let mut path = GlyphPath::default();
    for letter in words.chars() {
        let (glyph, step) = advance(letter);
        (path.x, path.y, path.scale) = (pen, y, scale);
        face.outline_glyph(glyph, &mut path);
        pen += step;
    }
    let class = attribute("class").unwrap_or_default();
    let fill = if class == "ground-text" { "" } else { " fill=\"currentColor\"" };
    Some(format!("<path class=\"{class}\"{fill} d=\"{}\"/>", path.text))
}

fn unescaped(text: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.iter().fold(text.to_string(), |text, (escaped, plain)| text.replace(escaped, plain))
}

#[derive(Default)]
struct GlyphPath {
    text: String,
    x: f32,
    y: f32,
    scale: f32,
}

impl GlyphPath {
    fn add(&mut self, command: char, points: &[(f32, f32)]) {
        self.text.push(command);
        for (x, y) in points {
            // Fonts count upwards, pictures downwards.
            let (x, y) = (self.x + x * self.scale, self.y - y * self.scale);
            let _ = write!(self.text, "{x:.2} {y:.2} ");
        }
    }
}

impl OutlineBuilder for GlyphPath {
    fn move_to(&mut self, x: f32, y: f32) {
        self.add('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.add('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.add('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.add('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.text.push('Z');
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
            let picture = exported_svg(&chart, &imprint_of(&[hard_disk()]), Theme::Light);
            let outlined = outlined(&picture).unwrap();
            assert!(picture.contains("<text ") && !outlined.contains("<text "), "{}", chart.name);
            let paths = |text: &str| text.matches("<path ").count();
            let texts = picture.matches("<text ").count();
            assert_eq!(paths(&outlined), paths(&picture) + texts, "{}", chart.name);
        }
    }

    #[test]
    fn picture_has_two_pixels_per_unit_and_its_theme() {
        let chart = all_charts().swap_remove(0);
        let imprint = imprint_of(&[hard_disk()]);
        let drawn = |theme| png(&chart, &imprint, theme).unwrap();
        let light = drawn(Theme::Light);
        assert_eq!(light, drawn(Theme::Light));
        let dark = Pixmap::decode_png(&drawn(Theme::Dark)).unwrap();
        let light = Pixmap::decode_png(&light).unwrap();
        assert!(light.width() == 1_240 && light.height() > 300, "{}", light.height());
        let corner = |picture: &Pixmap| picture.pixel(0, 0).unwrap().red();
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
