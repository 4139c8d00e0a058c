// SPDX-License-Identifier: Apache-2.0
//! Lines over named points, on a logarithmic scale, as an SVG file.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 90.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;
const COLOURS: [&str; 4] = ["#c2410c", "#1d4ed8", "#047857", "#7e22ce"];

/// A line: its name, and a value for each point. Values are above 0.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

/// The picture. `points` are the names along the bottom, all lines have a value for each.
pub(super) fn svg(title: &str, below: &str, points: &[String], lines: &[Line]) -> String {
    let values = || lines.iter().flat_map(|line| &line.values).copied().filter(|value| *value > 0.0);
    let low = values().fold(f64::MAX, f64::min).log10().floor();
    let high = values().fold(f64::MIN, f64::max).log10().ceil().max(low + 1.0);
    let x = |at: usize| LEFT + (WIDTH - LEFT - RIGHT) * (at as f64 + 0.5) / points.len().max(1) as f64;
    let y = |value: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value.log10() - low) / (high - low);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{}</text>\n",
        escaped(title)
    );
    for power in low as i32..=high as i32 {
        let (value, right) = (10_f64.powi(power), WIDTH - RIGHT);
        let at = y(value);
        let _ = writeln!(
            out,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#d4d4d4\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            at + 4.0,
            crate::progress::short(value)
        );
    }
    for (at, point) in points.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            x(at),
            HEIGHT - BOTTOM + 20.0,
            escaped(point)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 8.0,
        escaped(below)
    );
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        draw(&mut out, line, colour, &x, &y);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, line: &Line, colour: &str, x: &dyn Fn(usize) -> f64, y: &dyn Fn(f64) -> f64) {
    let places: Vec<(f64, f64)> =
        line.values.iter().enumerate().filter(|(_, v)| **v > 0.0).map(|(at, v)| (x(at), y(*v))).collect();
    let path: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        out,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for (x, y) in &places {
        let _ = writeln!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>");
    }
    if let Some((x, y)) = places.last() {
        let (x, y, name) = (x + 10.0, y + 4.0, escaped(&line.name));
        let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{name}</text>");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_values_lie_higher() {
        let line = |name: &str, values: &[f64]| Line { name: name.to_owned(), values: values.to_vec() };
        let points = ["1".to_owned(), "10".to_owned()];
        let picture =
            svg("a < b", "caching", &points, &[line("one", &[10.0, 100.0]), line("two", &[1000.0, 1.0])]);
        assert!(picture.contains("a &lt; b"));
        // Three decades over 310 units; the points lie a quarter and three quarters to the right.
        assert!(picture.contains("points=\"210.0,246.7 490.0,143.3\""), "{picture}");
        assert!(picture.contains("points=\"210.0,40.0 490.0,350.0\""), "{picture}");
    }
}
