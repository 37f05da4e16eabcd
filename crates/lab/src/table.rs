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

/// A column's heading; `numbers` if its cells are numbers, which are aligned to the right; `label` if its cells, with those of the
/// other labels, tell what the row is of. No two rows of a table have equal labels.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) numbers: bool,
    pub(crate) label: bool,
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
    /// Makes a table without rows; a title that starts with `@` heads a column of labels, one with `#` (or `@#`) a column of numbers.
    pub(crate) fn new(titles: &[impl AsRef<str>]) -> Self {
        let column = |title: &str| {
            let (label, title) = title.strip_prefix('@').map_or((false, title), |title| (true, title));
            let (numbers, title) = title.strip_prefix('#').map_or((false, title), |title| (true, title));
            Column { title: title.to_owned(), numbers, label }
        };
        Self { columns: titles.iter().map(|title| column(title.as_ref())).collect(), rows: Vec::new() }
    }

    /// Leaves out columns without any figure.
    pub(crate) fn without_empty(self) -> Self {
        let has = |at: usize| self.columns[at].label || self.rows.iter().any(|row| row[at].tone != Tone::Absent);
        let kept: Vec<bool> = (0..self.columns.len()).map(has).collect();
        self.kept(&kept)
    }

    /// Leaves out columns of these titles.
    pub(crate) fn without(self, titles: &[&str]) -> Self {
        let kept: Vec<bool> = self.columns.iter().map(|column| !titles.contains(&column.title.as_str())).collect();
        self.kept(&kept)
    }

    fn kept(mut self, kept: &[bool]) -> Self {
        let keep = |row: &mut Vec<Cell>| {
            let mut kept = kept.iter();
            row.retain(|_| kept.next() == Some(&true));
        };
        self.rows.iter_mut().for_each(keep);
        let mut kept = kept.iter();
        self.columns.retain(|_| kept.next() == Some(&true));
        self
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        let cells = cells.into();
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }
}

impl Cell {
    /// A cell without a figure.
    pub(crate) fn absent() -> Self {
        Self::from(crate::quantity::UNKNOWN).tone(Tone::Absent)
    }

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
