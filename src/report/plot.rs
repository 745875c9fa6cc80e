//! Drawings as SVG. Colours are given as attributes, which the page's style sheet replaces in the
//! dark; each drawing is made twice, for wide and for narrow screens, so that letters stay
//! readable.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::Plot;
use super::series::{Series, Tally};

/// Letters and axes.
const INK: RGBColor = RGBColor(0x24, 0x2B, 0x33);
/// Lines behind the figures.
const GRID: RGBColor = RGBColor(0xD8, 0xDD, 0xE3);
/// What was kept, or the first of several.
const FIRST: RGBColor = RGBColor(0x1F, 0x6F, 0xB5);
/// What was left out, or the second.
const SECOND: RGBColor = RGBColor(0xC0, 0x6A, 0x1E);
/// The third.
const THIRD: RGBColor = RGBColor(0x7A, 0x86, 0x93);

const WIDE: (u32, u32) = (860, 270);
const NARROW: (u32, u32) = (360, 250);

/// Height of one bar of a list of bars.
const BAR_HEIGHT: u32 = 24;

/// A bar: what it is, how much it is, and whether it is what remains.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) value: u64,
    pub(super) is_rest: bool,
}

/// Which count of a tally a line shows.
type Pick = fn(&Tally) -> u64;

type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn drawn(label: String, sizes: [(u32, u32); 2], draw: impl Fn(&Area<'_>) -> Drawn) -> Plot {
    let one = |size: (u32, u32)| {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
            let result = draw(&area).and_then(|()| area.present());
            if result.is_err() {
                // Writing to a string cannot fail; axes of nothing can, and draw nothing.
                tracing::debug!(label, "a plot of the report has nothing to show");
            }
        }
        scalable(&svg, size)
    };
    Plot { wide: one(sizes[0]), narrow: one(sizes[1]), label }
}

/// Lets a drawing fit its place, and hides it from readers who are told the same in words.
fn scalable(svg: &str, (width, height): (u32, u32)) -> String {
    let fixed = format!("<svg width=\"{width}\" height=\"{height}\" ");
    svg.replacen(&fixed, "<svg aria-hidden=\"true\" focusable=\"false\" ", 1)
}

/// Draws a list of bars, the longest as wide as there is room for.
pub(super) fn bars(label: &str, bars: &[Bar]) -> Plot {
    let height = bars.len() as u32 * BAR_HEIGHT + 8;
    drawn(label.to_owned(), [(WIDE.0, height), (NARROW.0, height)], |area| draw_bars(area, bars))
}

fn draw_bars(area: &Area<'_>, bars: &[Bar]) -> Drawn {
    let (width, _) = area.dim_in_pixel();
    let narrow = width < 500;
    let (letters, size) = if narrow { (118, 11) } else { (150, 13) };
    let room = width as i32 - letters - if narrow { 62 } else { 90 };
    let most = bars.iter().map(|bar| bar.value).max().unwrap_or(0).max(1);
    let left = Pos::new(HPos::Right, VPos::Center);
    let right = Pos::new(HPos::Left, VPos::Center);
    let style = ("sans-serif", size).into_font().color(&INK);
    for (row, bar) in (0i32..).zip(bars) {
        let top = row * BAR_HEIGHT as i32 + 4;
        let middle = top + BAR_HEIGHT as i32 / 2 - 2;
        let length = (bar.value as f64 / most as f64 * f64::from(room)).round() as i32;
        let length = if bar.value > 0 { length.max(1) } else { 0 };
        let colour = if bar.is_rest { FIRST } else { SECOND };
        let corners = [(letters, top), (letters + length, top + BAR_HEIGHT as i32 - 5)];
        area.draw(&Rectangle::new(corners, colour.filled()))?;
        let text = style.clone().pos(left);
        area.draw_text(&bar.label, &text, (letters - 8, middle))?;
        let text = style.clone().pos(right);
        area.draw_text(&grouped(bar.value), &text, (letters + length + 6, middle))?;
    }
    Ok(())
}

/// Draws upright bars over named classes.
pub(super) fn columns(label: &str, classes: &[(String, u64)]) -> Plot {
    drawn(label.to_owned(), [WIDE, NARROW], |area| draw_columns(area, classes))
}

fn draw_columns(area: &Area<'_>, classes: &[(String, u64)]) -> Drawn {
    let most = classes.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let count = classes.len().max(1) as f64;
    let narrow = area.dim_in_pixel().0 < 500;
    let size = if narrow { 10 } else { 12 };
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .x_label_area_size(26)
        .y_label_area_size(if narrow { 40 } else { 56 })
        .build_cartesian_2d(0f64..count, 0f64..most as f64 * 1.05)?;
    let style = ("sans-serif", size).into_font().color(&INK);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .disable_x_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .y_labels(5)
        .y_label_formatter(&|value| short(*value))
        .label_style(style.clone())
        .draw()?;
    chart.draw_series(classes.iter().enumerate().map(|(at, (_, count))| {
        let corners = [(at as f64 + 0.12, 0.0), (at as f64 + 0.88, *count as f64)];
        Rectangle::new(corners, FIRST.filled())
    }))?;
    // Names stand below their columns; where they would touch, every other one is left out.
    let letters = classes.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let room = f64::from(area.dim_in_pixel().0 - 70) / count;
    let every = ((letters as f64 * f64::from(size) * 0.62 + 6.0) / room).ceil().max(1.0) as usize;
    let text = style.pos(Pos::new(HPos::Center, VPos::Top));
    for (at, (name, _)) in classes.iter().enumerate().filter(|(at, _)| at % every == 0) {
        let (x, y) = chart.backend_coord(&(at as f64 + 0.5, 0.0));
        area.draw_text(name, &text, (x, y + 6))?;
    }
    Ok(())
}

/// Draws what was fetched, new and known over the time of the crawl.
pub(super) fn growth(label: &str, series: &Series) -> Plot {
    drawn(label.to_owned(), [WIDE, NARROW], |area| draw_growth(area, series))
}

fn draw_growth(area: &Area<'_>, series: &Series) -> Drawn {
    let sums = series.sums();
    let most = sums.last().map_or(1, |sum| sum.pages.max(1)) as f64;
    let narrow = area.dim_in_pixel().0 < 500;
    let size = if narrow { 10 } else { 12 };
    let secs = series.width() as f64 / 1000.0;
    let end = (sums.len().max(1) as f64) * secs;
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(16)
        .x_label_area_size(26)
        .y_label_area_size(if narrow { 40 } else { 56 })
        .build_cartesian_2d(0f64..end, 0f64..most * 1.05)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(if narrow { 4 } else { 8 })
        .y_labels(5)
        .x_label_formatter(&|secs| elapsed(*secs, end))
        .y_label_formatter(&|value| short(*value))
        .label_style(("sans-serif", size).into_font().color(&INK))
        .draw()?;
    let picks: [(RGBColor, Pick); 3] =
        [(THIRD, |sum| sum.pages), (SECOND, |sum| sum.duplicates), (FIRST, |sum| sum.new)];
    for (colour, pick) in picks {
        let points = std::iter::once((0.0, 0.0)).chain(
            sums.iter().enumerate().map(|(at, sum)| ((at + 1) as f64 * secs, pick(sum) as f64)),
        );
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
    }
    Ok(())
}

/// Returns a time since the beginning, in the unit that suits the whole.
fn elapsed(secs: f64, whole: f64) -> String {
    match whole {
        whole if whole < 180.0 => format!("{secs:.0} s"),
        whole if whole < 3.0 * 3600.0 => format!("{:.0} min", secs / 60.0),
        whole if whole < 3.0 * 86_400.0 => format!("{:.0} h", secs / 3600.0),
        _ => format!("{:.0} d", secs / 86_400.0),
    }
}

fn short(value: f64) -> String {
    match value {
        value if value >= 1e9 => format!("{:.1} G", value / 1e9),
        value if value >= 1e6 => format!("{:.1} M", value / 1e6),
        value if value >= 1e4 => format!("{:.0} k", value / 1e3),
        value => format!("{value:.0}"),
    }
}

/// Groups digits: `12,034`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_drawing_are_escaped_and_it_scales() {
        let bar = |label: &str, value| Bar { label: label.to_owned(), value, is_rest: true };
        let plot = bars("x", &[bar("<script>alert(1)</script>", 3), bar("b", 0)]);
        for svg in [&plot.wide, &plot.narrow] {
            assert!(!svg.contains("<script>"), "{svg}");
            assert!(svg.starts_with("<svg aria-hidden") && svg.contains("viewBox"), "{svg}");
        }
        assert_ne!(plot.wide, plot.narrow);
    }

    #[test]
    fn a_crawl_without_requests_has_empty_drawings() {
        for plot in [growth("x", &Series::default()), columns("x", &[]), bars("x", &[])] {
            assert!(plot.wide.ends_with("</svg>\n") || plot.wide.ends_with("</svg>"));
        }
    }

    #[test]
    fn times_have_the_unit_of_the_whole() {
        assert_eq!(elapsed(60.0, 100.0), "60 s");
        assert_eq!(elapsed(3600.0, 7200.0), "60 min");
        assert_eq!(elapsed(7200.0, 86_400.0), "2 h");
    }
}
