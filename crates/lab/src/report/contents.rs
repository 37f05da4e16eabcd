//! The page's sections, and the list of them at its top.

use maud::{Markup, html};

pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    /// Class: `screen` for a section left out on paper, `figure` for a drawing, or empty.
    pub(super) class: &'static str,
    pub(super) body: Markup,
}

impl Section {
    pub(super) fn new(id: &str, title: &str, body: Markup) -> Self {
        Self { id: id.to_owned(), title: title.to_owned(), class: "", body }
    }
}

pub(super) fn list(sections: &[Section]) -> Markup {
    html! {
        nav aria-label="Contents" {
            ul { @for section in sections { li { a href=(format!("#{}", section.id)) { (section.title) } } } }
        }
    }
}

pub(super) fn section(section: &Section) -> Markup {
    html! {
        section id=(section.id) class=[(!section.class.is_empty()).then_some(section.class)] {
            h2 { (section.title) }
            (section.body)
        }
    }
}
