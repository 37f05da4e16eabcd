//! A table before rendering: the report and the terminal draw the same tables.

/// Anchor of a test's details in the report.
pub(crate) fn anchor(index: usize) -> String {
    format!("test-{}", index + 1)
}

/// A table. Every row is as long as `columns`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// A column's heading; `numbers` if its cells are numbers, which are aligned to the right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) numbers: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Explanation of the text, in smaller letters, where there is room.
    pub(crate) note: Option<String>,
    /// Anchor in the report with more details.
    pub(crate) anchor: Option<String>,
    pub(crate) tone: Tone,
}

/// Meaning of a cell's colour. The text always says the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    Good,
    /// Valid, but to be taken with care.
    Doubtful,
    Bad,
    Quiet,
    /// No figure: a narrow page leaves the cell out.
    Absent,
}

impl Table {
    /// Makes a table without rows; a title that starts with `#` heads a column of numbers.
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        let column = |title: &'static str| match title.strip_prefix('#') {
            Some(title) => Column { title, numbers: true },
            None => Column { title, numbers: false },
        };
        Self { columns: titles.iter().copied().map(column).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }
}

impl Cell {
    pub(crate) fn note(self, note: impl Into<String>) -> Self {
        Self { note: Some(note.into()), ..self }
    }

    pub(crate) fn anchor(self, anchor: String) -> Self {
        Self { anchor: Some(anchor), ..self }
    }

    pub(crate) fn tone(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), ..Self::default() }
    }
}
