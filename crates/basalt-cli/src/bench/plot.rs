// SPDX-License-Identifier: Apache-2.0
//! Lines over named points, on a logarithmic scale, as an SVG file.

use std::error::Error;

use anyhow::anyhow;
use plotters::prelude::*;

/// Width and height.
const SIZE: (u32, u32) = (720, 400);
const COLOURS: [RGBColor; 5] = [
    RGBColor(0xc2, 0x41, 0x0c),
    RGBColor(0x1d, 0x4e, 0xd8),
    RGBColor(0x04, 0x78, 0x57),
    RGBColor(0x7e, 0x22, 0xce),
    RGBColor(0x52, 0x52, 0x52),
];
const FONT: &str = "sans-serif";

/// A line: its name, and a value for each point. Values that are not above 0 are left out.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) values: Vec<f64>,
}

/// The picture. `points` are the names along the bottom, all lines have a value for each.
pub(super) fn svg(title: &str, below: &str, points: &[String], lines: &[Line]) -> anyhow::Result<String> {
    let mut picture = String::new();
    let drawn = draw(&mut picture, title, below, points, lines);
    drawn.map_err(|error| anyhow!("cannot draw {title}: {error}"))?;
    Ok(picture)
}

fn draw(
    picture: &mut String,
    title: &str,
    below: &str,
    points: &[String],
    lines: &[Line],
) -> Result<(), Box<dyn Error>> {
    let area = SVGBackend::with_string(picture, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    if points.is_empty() {
        area.titled(title, (FONT, 16))?;
        return Ok(area.present()?);
    }
    let places = (0..points.len()).into_segmented();
    let mut chart = ChartBuilder::on(&area)
        .caption(title, (FONT, 16))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(60)
        .build_cartesian_2d(places, decades(lines).log_scale())?;
    let name = |place: &SegmentValue<usize>| match place {
        SegmentValue::CenterOf(at) | SegmentValue::Exact(at) => points.get(*at).cloned().unwrap_or_default(),
        SegmentValue::Last => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .label_style((FONT, 13))
        .x_labels(points.len())
        .x_label_formatter(&name)
        .x_desc(below)
        .y_label_formatter(&|value| crate::progress::short(*value))
        .draw()?;
    for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let values = line.values.iter().enumerate().filter(|(_, value)| **value > 0.0);
        let values = values.map(|(at, value)| (SegmentValue::CenterOf(at), *value));
        chart
            .draw_series(LineSeries::new(values, colour.filled().stroke_width(2)).point_size(3))?
            .label(&line.name)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE)
        .border_style(RGBColor(0xd4, 0xd4, 0xd4))
        .label_font((FONT, 13))
        .draw()?;
    area.present()?;
    Ok(())
}

/// The powers of ten between which all values lie.
fn decades(lines: &[Line]) -> std::ops::Range<f64> {
    let values = || lines.iter().flat_map(|line| &line.values).copied().filter(|value| *value > 0.0);
    if values().next().is_none() {
        return 1.0..10.0;
    }
    let low = values().fold(f64::MAX, f64::min).log10().floor();
    let high = values().fold(f64::MIN, f64::max).log10().ceil().max(low + 1.0);
    10_f64.powf(low)..10_f64.powf(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the points of all lines lie, from the left and from above.
    fn places(picture: &str) -> Vec<(f64, f64)> {
        let number = |circle: &str, name: &str| {
            let text = circle.split_once(name).expect("a place").1;
            text.split('"').nth(1).expect("quoted").parse().expect("a number")
        };
        let circles = picture.split("<circle").skip(1);
        circles.map(|circle| (number(circle, "cx"), number(circle, "cy"))).collect()
    }

    #[test]
    fn higher_values_lie_higher() {
        let line = |name: &str, values: &[f64]| Line { name: name.to_owned(), values: values.to_vec() };
        let points = ["first".to_owned(), "second".to_owned()];
        let lines = [line("one", &[10.0, 100.0]), line("two", &[1000.0, 1.0])];
        let picture = svg("a < b", "caching", &points, &lines).expect("it is drawn");
        for text in ["a &lt; b", "caching", "first", "second", "one", "two"] {
            assert!(picture.contains(text), "{text} is missing: {picture}");
        }
        let places = places(&picture);
        assert_eq!(places.len(), 4, "{picture}");
        let by_height = [places[2], places[1], places[0], places[3]].map(|place| place.1);
        assert!(by_height.is_sorted_by(|above, below| above < below), "{places:?}");
        assert!(places[0].0 < places[1].0 && places[0].0 == places[2].0, "{places:?}");
    }

    #[test]
    fn a_picture_of_nothing_is_a_picture() {
        let picture = svg("nothing", "here", &[], &[]).expect("it is drawn");
        assert!(picture.contains("nothing"));
    }
}
