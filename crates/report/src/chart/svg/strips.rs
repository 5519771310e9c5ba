//! Where a drive stands: strips on logarithmic scales, one below the other in a single picture.

use super::element::{SvgText, number};
use super::frame::line;
use super::moved_to;
use crate::chart::text_box::text_width;

const STRIP_HEIGHT: f64 = 76.0;
/// Heights within a strip: title, scale, and names of ranges.
const TITLE_Y: f64 = 16.0;
const SCALE_Y: f64 = 40.0;
const NAMES_Y: f64 = 65.0;
/// Ranges that overlap lie in lanes of this height.
const LANE: f64 = 7.0;
const BAR: f64 = 6.0;
/// Sizes of type: names of ranges, titles and units, values.
const NAME_TYPE: f64 = 11.0;
const TITLE_TYPE: f64 = 13.5;
const VALUE_TYPE: f64 = 17.0;
const BETWEEN_NAMES: f64 = 6.0;
/// Share of the width that stays free at both ends of a scale.
const EDGE: f64 = 0.03;

pub struct Strip {
    pub title: String,
    /// The number as printed, and its unit.
    pub value: String,
    pub unit: String,
    pub at: f64,
    pub interval: (f64, f64),
    pub ranges: Vec<StripRange>,
    /// Where the value stands, in words.
    pub sentence: String,
}

pub struct StripRange {
    pub name: String,
    pub ends: (f64, f64),
}

/// All strips in one picture of this width.
pub fn strips_svg(strips: &[Strip], width: f64) -> String {
    let height = STRIP_HEIGHT * strips.len() as f64;
    let view = format!("0 0 {} {}", number(width), number(height));
    let (width_px, height_px) = (number(width), number(height));
    let mut out = SvgText::default();
    let attributes = [
        ("xmlns", "http://www.w3.org/2000/svg"),
        ("viewBox", view.as_str()),
        ("width", &width_px),
        ("height", &height_px),
        ("role", "img"),
    ];
    out.open("svg", &attributes);
    out.with_text("title", &[], "Where this drive stands");
    let said = |it: &Strip| format!("{}: {} {}. {}", it.title, it.value, it.unit, it.sentence);
    out.with_text("desc", &[], &strips.iter().map(said).collect::<Vec<_>>().join(" "));
    for (i, strip) in strips.iter().enumerate() {
        draw(strip, STRIP_HEIGHT * i as f64, width, &mut out);
    }
    out.close("svg");
    out.finish()
}

fn draw(strip: &Strip, top: f64, width: f64, out: &mut SvgText) {
    let x = scale(strip, width);
    let scale_y = top + SCALE_Y;
    words(out, "text", (0.0, top + TITLE_Y), TITLE_TYPE, "start", &strip.title);
    let unit_width = text_width(&strip.unit, TITLE_TYPE) * 0.88;
    words(out, "muted", (width, top + TITLE_Y), TITLE_TYPE, "end", &strip.unit);
    let value_at = (width - unit_width - 4.0, top + TITLE_Y);
    words(out, "strong text", value_at, VALUE_TYPE, "end", &strip.value);
    line(out, "rule grid", (0.0, scale_y), (width, scale_y));
    let lanes = lanes(&strip.ranges);
    let lanes_count = lanes.iter().copied().max().unwrap_or(0) + 1;
    let first = scale_y - LANE * (lanes_count - 1) as f64 / 2.0 - BAR / 2.0;
    for (range, lane) in strip.ranges.iter().zip(&lanes) {
        let (left, right) = (x(range.ends.0), x(range.ends.1));
        let attributes = [
            ("class", "fill range"),
            ("x", &number(left)),
            ("y", &number(first + LANE * *lane as f64)),
            ("width", &number((right - left).max(2.0))),
            ("height", &number(BAR)),
            ("rx", "1"),
        ];
        out.empty("rect", &attributes);
    }
    let below = first + LANE * (lanes_count - 1) as f64 + BAR;
    let centres: Vec<f64> =
        strip.ranges.iter().map(|it| (x(it.ends.0) + x(it.ends.1)) / 2.0).collect();
    let widths: Vec<f64> =
        strip.ranges.iter().map(|it| text_width(&it.name, NAME_TYPE) * 0.9).collect();
    for ((range, centre), at) in
        strip.ranges.iter().zip(&centres).zip(apart(&centres, &widths, width))
    {
        line(out, "rule range", (*centre, below + 2.0), (at, top + NAMES_Y - NAME_TYPE));
        words(out, "muted", (at, top + NAMES_Y), NAME_TYPE, "middle", &range.name);
    }
    line(out, "interval s0", (x(strip.interval.0), scale_y), (x(strip.interval.1), scale_y));
    let place = moved_to(x(strip.at), scale_y);
    let circle = "M6.5 0A6.5 6.5 0 1 1 -6.5 0A6.5 6.5 0 1 1 6.5 0Z";
    out.empty("path", &[("class", "fill rim s0"), ("transform", &place), ("d", circle)]);
}

/// Places of values: logarithmic, over all ranges and the value.
fn scale(strip: &Strip, width: f64) -> impl Fn(f64) -> f64 {
    let ends = strip.ranges.iter().flat_map(|range| [range.ends.0, range.ends.1]);
    let all: Vec<f64> = ends.chain([strip.at]).filter(|value| *value > 0.0).collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min).ln();
    let high = all.iter().copied().fold(f64::MIN_POSITIVE, f64::max).ln();
    let (low, length) = (low, (high - low).max(f64::EPSILON));
    move |value: f64| {
        let share = ((value.max(f64::MIN_POSITIVE).ln() - low) / length).clamp(0.0, 1.0);
        width * (EDGE + share * (1.0 - 2.0 * EDGE))
    }
}

/// The lane of each range: the first that no earlier range overlaps.
fn lanes(ranges: &[StripRange]) -> Vec<usize> {
    let mut lanes: Vec<usize> = Vec::new();
    for (i, range) in ranges.iter().enumerate() {
        let is_free = |lane: usize| {
            let mut before = ranges[..i].iter().zip(&lanes).filter(|(_, of)| **of == lane);
            before.all(|(it, _)| it.ends.1 < range.ends.0 || range.ends.1 < it.ends.0)
        };
        let lane = (0..).find(|lane| is_free(*lane)).unwrap_or(i);
        lanes.push(lane);
    }
    lanes
}

/// Middles of texts that do not touch, near the wanted ones and within the width.
fn apart(wanted: &[f64], widths: &[f64], width: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut middles = vec![0.0; wanted.len()];
    let mut free = 0.0_f64;
    for i in &order {
        middles[*i] = wanted[*i].max(free + widths[*i] / 2.0);
        free = middles[*i] + widths[*i] / 2.0 + BETWEEN_NAMES;
    }
    let mut free = width;
    for i in order.iter().rev() {
        middles[*i] = middles[*i].min(free - widths[*i] / 2.0);
        free = middles[*i] - widths[*i] / 2.0 - BETWEEN_NAMES;
    }
    middles
}

fn words(out: &mut SvgText, class: &str, at: (f64, f64), size: f64, anchor: &str, text: &str) {
    let attributes = [
        ("class", class),
        ("x", &number(at.0)),
        ("y", &number(at.1)),
        ("font-size", &number(size)),
        ("text-anchor", anchor),
    ];
    out.with_text("text", &attributes, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(low: f64, high: f64) -> StripRange {
        StripRange { name: "SATA SSD".to_string(), ends: (low, high) }
    }

    #[test]
    fn overlapping_ranges_lie_in_lanes() {
        let ranges = [range(1.0, 3.0), range(2.0, 5.0), range(4.0, 9.0)];
        assert_eq!(lanes(&ranges), [0, 1, 0]);
    }

    #[test]
    fn names_do_not_touch_and_stay_in_the_picture() {
        for wanted in [[10.0, 12.0, 300.0, 330.0], [5.0, 5.0, 5.0, 5.0], [332.0; 4]] {
            let middles = apart(&wanted, &[60.0; 4], 332.0);
            let mut sorted = middles.clone();
            sorted.sort_by(f64::total_cmp);
            assert!(sorted[0] >= 30.0 && sorted[3] <= 302.0, "{middles:?}");
            assert!(sorted.windows(2).all(|two| two[1] - two[0] >= 60.0), "{middles:?}");
        }
    }

    #[test]
    fn value_and_its_place_are_drawn() {
        let strip = Strip {
            title: "<b>".to_string(),
            value: "266".to_string(),
            unit: "MB/s".to_string(),
            at: 10.0,
            interval: (9.0, 11.0),
            ranges: vec![range(1.0, 100.0)],
            sentence: "As usual.".to_string(),
        };
        let picture = strips_svg(&[strip], 100.0);
        assert!(picture.contains("&lt;b&gt;: 266 MB/s. As usual."), "{picture}");
        // On a logarithmic scale 10 is in the middle between 1 and 100.
        assert!(picture.contains("translate(50 40)"), "{picture}");
    }
}
