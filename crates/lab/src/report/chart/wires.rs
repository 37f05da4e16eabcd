//! Throughput by I/O size over a wire of 40 Gb/s and over one of 10.

use linerate_result::RunResult;

use super::by_io_size::{BYTES, Line, lines_of, measured};
use super::plot::Look;
use super::{Chart, Drawing, Page, Paper};
use linerate_load::fcoe::{Mix, Wire};

pub(super) const CHART: Chart = Chart {
    id: "throughput-40g-10g",
    title: "FCoE throughput, 40 Gb/s against 10 Gb/s",
    reading: "All initiators together; both axes are logarithmic. Hollow marks on a dotted line: over 10 Gb/s what the same \
              colour did over 40. READ and WRITE fill one direction of the wire, 50/50 both.",
    paper: Paper::Half,
    draw,
};

fn draw(run: &RunResult, page: Page) -> Option<Drawing> {
    let mut lines = Vec::new();
    for (colour, mix) in Mix::ALL.into_iter().enumerate() {
        let Some(look) = Look::solid(colour) else { continue };
        for (wire, look) in [(Wire::FortyGigabit, look), (Wire::TenGigabit, look.hollow())] {
            let points = measured(run, mix, wire);
            if !points.is_empty() {
                lines.push(Line { name: format!("{}, {}b/s", mix.title(), wire.word()), look, measured: true, points });
            }
        }
    }
    lines_of(&lines, page, &BYTES)
}
