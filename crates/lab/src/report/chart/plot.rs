//! Parts of a drawing: lines, marks, labels, axes. Their looks are classes of the page's style sheet.

use maud::{Markup, html};

use super::scale::Scale;

/// Number of colours, each with its own mark. A series without a colour is shown in the table only.
pub(super) const COLOURS: usize = 6;

/// Look of a series: colour and mark, solid or hollow. A hollow mark is larger, so that the solid one of the same place
/// and colour shows inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    colour: usize,
    hollow: bool,
}

impl Look {
    /// Look for a single series.
    pub(super) const FIRST: Self = Self { colour: 0, hollow: false };

    /// Solid look of that colour; `None` when the colours are used up.
    pub(super) fn solid(colour: usize) -> Option<Self> {
        (colour < COLOURS).then_some(Self { colour, ..Self::FIRST })
    }

    /// Hollow look of the same colour.
    pub(super) fn hollow(self) -> Self {
        Self { hollow: true, ..self }
    }

    /// Class of the line.
    pub(super) fn line(self) -> String {
        format!("series{} s{}", if self.hollow { " dotted" } else { "" }, self.colour)
    }
}

/// Area of a drawing for the values, leaving room for labels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Text of a coordinate with one decimal.
pub(super) fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// Position of a label relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

pub(super) fn label(x: f64, y: f64, anchor: Anchor, class: &str, text: &str) -> Markup {
    let anchor = match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    };
    html! { text x=(px(x)) y=(px(y)) text-anchor=(anchor) class=(class) { (text) } }
}

pub(super) fn line(from: (f64, f64), to: (f64, f64), class: &str) -> Markup {
    html! { line x1=(px(from.0)) y1=(px(from.1)) x2=(px(to.0)) y2=(px(to.1)) class=(class) {} }
}

/// A line through points; nothing for fewer than two.
pub(super) fn path(points: &[(f64, f64)], class: &str) -> Markup {
    html! { @if points.len() > 1 { polyline points=(joined(points)) class=(class) {} } }
}

/// A filled shape.
pub(super) fn shape(points: &[(f64, f64)], class: &str) -> Markup {
    html! { @if points.len() > 2 { polygon points=(joined(points)) class=(class) {} } }
}

fn joined(points: &[(f64, f64)]) -> String {
    points.iter().map(|&(x, y)| format!("{},{}", px(x), px(y))).collect::<Vec<_>>().join(" ")
}

/// The mark of a series at a point; `title` is shown when the pointer rests on it.
pub(super) fn mark(look: Look, (x, y): (f64, f64), title: &str) -> Markup {
    let size = if look.hollow { 1.6 } else { 1.0 };
    let corner = |dx: f64, dy: f64| (x + size * dx, y + size * dy);
    let box_of = |half: (f64, f64)| {
        let (left, top) = corner(-half.0, -half.1);
        html! { rect x=(px(left)) y=(px(top)) width=(px(2.0 * size * half.0)) height=(px(2.0 * size * half.1)) {} }
    };
    let class = format!("mark{} s{}", if look.hollow { " hollow" } else { "" }, look.colour);
    html! {
        g class=(class) {
            @match look.colour {
                0 => circle cx=(px(x)) cy=(px(y)) r=(px(4.5 * size)) {},
                1 => (box_of((4.0, 4.0))),
                2 => (shape(&[corner(0.0, -5.5), corner(5.0, 4.0), corner(-5.0, 4.0)], "")),
                3 => (shape(&[corner(0.0, -5.5), corner(5.5, 0.0), corner(0.0, 5.5), corner(-5.5, 0.0)], "")),
                4 => (shape(&[corner(0.0, 5.5), corner(5.0, -4.0), corner(-5.0, -4.0)], "")),
                _ => (box_of((5.5, 2.5))),
            }
            @if !title.is_empty() { title { (title) } }
        }
    }
}

/// A bar from the least to the greatest value, with ends.
pub(super) fn whisker(look: Look, x: f64, least: f64, greatest: f64) -> Markup {
    let class = format!("whisker s{}", look.colour);
    html! {
        (line((x, least), (x, greatest), &class))
        (line((x - 4.0, least), (x + 4.0, least), &class))
        (line((x - 4.0, greatest), (x + 4.0, greatest), &class))
    }
}

/// Horizontal grid lines with their labels to the left.
pub(super) fn rows(area: Area, scale: &Scale, ticks: &[f64], text: impl Fn(f64) -> String) -> Markup {
    html! {
        @for &tick in ticks {
            (line((area.left, scale.at(tick)), (area.right, scale.at(tick)), "grid"))
            (label(area.left - 8.0, scale.at(tick) + 4.0, Anchor::End, "tick", &text(tick)))
        }
    }
}

/// Ticks below the area, at places given with their labels. Labels that would touch the one before are left out.
pub(super) fn columns(area: Area, marks: &[(f64, String)]) -> Markup {
    let mut free = f64::MIN;
    let labelled = marks.iter().filter(|(x, text)| {
        let half = width(text) / 2.0;
        let fits = x - half > free;
        if fits {
            free = x + half + 5.0;
        }
        fits
    });
    html! {
        (line((area.left, area.bottom), (area.right, area.bottom), "axis"))
        @for (x, _) in marks { (line((*x, area.bottom), (*x, area.bottom + 4.0), "axis")) }
        @for (x, text) in labelled { (label(*x, area.bottom + 19.0, Anchor::Middle, "tick", text)) }
    }
}

/// Estimated width of a label in the style sheet's 13 px letters, px.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * 7.2
}

/// The title of a panel, whose letters are bold, cut to what fits into `room` pixels.
pub(super) fn fit_title(title: &str, room: f64) -> String {
    fit(title, room * 0.86)
}

/// The text, cut to what fits into `room` pixels.
pub(super) fn fit(text: &str, room: f64) -> String {
    if width(text) <= room {
        return text.to_owned();
    }
    let mut kept: String = text
        .chars()
        .scan(0.0, |used, c| {
            *used += 7.2;
            (*used <= room - 7.2).then_some(c)
        })
        .collect();
    kept.push('…');
    kept
}
