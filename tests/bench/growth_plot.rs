//! Draws the table of `growth`: what grows, and what does not, as the known URLs grow.

use std::path::Path;

use plotters::prelude::*;

const INK: RGBColor = RGBColor(0x24, 0x2B, 0x33);
const GRID: RGBColor = RGBColor(0xD8, 0xDD, 0xE3);
const SIZE: (u32, u32) = (860, 300);

/// One curve: what it shows, the column that has it and the colour.
const CURVES: [(&str, usize, RGBColor); 3] = [
    ("processor time per page, in us", 6, RGBColor(0x1F, 0x6F, 0xB5)),
    ("resident memory at the end, in MiB", 5, RGBColor(0xC0, 0x6A, 0x1E)),
    ("disk per URL, in bytes", 3, RGBColor(0x7A, 0x86, 0x93)),
];

/// Draws a table, as `growth` prints it, into an SVG.
pub(crate) fn draw(table: &Path, plot: &Path) {
    let text = std::fs::read_to_string(table).expect("the table can be read");
    let rows: Vec<Vec<f64>> = text.lines().filter_map(row).collect();
    assert!(rows.len() > 1, "a curve needs two sizes");
    let known: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    let most = rows.iter().flat_map(|row| CURVES.map(|(_, at, _)| row[at])).fold(0.0, f64::max);
    let area = SVGBackend::new(plot, SIZE).into_drawing_area();
    area.fill(&WHITE).expect("draws");
    let mut chart = ChartBuilder::on(&area)
        .margin(12)
        .margin_right(28)
        .x_label_area_size(36)
        .y_label_area_size(48)
        .build_cartesian_2d((known[0]..known[known.len() - 1]).log_scale(), 0.0..most * 1.5)
        .expect("has axes");
    chart
        .configure_mesh()
        .x_desc("known URLs")
        .x_label_formatter(&|known| format!("10^{:.0}", known.log10()))
        .y_label_formatter(&|value| format!("{value:.0}"))
        .axis_style(INK)
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 13).into_font().color(&INK))
        .draw()
        .expect("draws");
    for (label, at, colour) in CURVES {
        let points: Vec<(f64, f64)> = rows.iter().map(|row| (row[0], row[at])).collect();
        let style = colour.stroke_width(2);
        let line = LineSeries::new(points.clone(), style).point_size(3);
        let drawn = chart.draw_series(line).expect("draws").label(label);
        drawn.legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(("sans-serif", 13).into_font().color(&INK))
        .background_style(WHITE.mix(0.8))
        .draw()
        .expect("draws");
    area.present().expect("writes the plot");
}

/// Returns the figures of a row, of pairs the second; `None` for a head.
fn row(line: &str) -> Option<Vec<f64>> {
    let cells = line.trim().strip_prefix('|')?.strip_suffix('|')?.split('|');
    cells.map(|cell| cell.rsplit(',').next()?.trim().parse().ok()).collect()
}
