//! A sheet after RFC 4180, without anything a parser would have to be told of: what the file is stands in its columns
//! (`node`, `at_utc`, `in_force_at_from`) and in its name.
//!
//! Numbers that could not be kept have a line of their own where they are missing, with `gap` for a cause, an outcome or an
//! action: it counts as no row.
//!
//! A cell whose text could be taken for a formula by whatever opens the sheet begins with an apostrophe (rule 46).

use std::borrow::Cow;

use ::csv::{Terminator, WriterBuilder};

use super::{
    About, Tally,
    out::Out,
    rows::{Record, Shape},
};
use crate::{fault::Fault, history::gaps::Missing};

/// What a spreadsheet takes for the start of a formula, or strips to get at one;
/// some take the wide forms for the narrow ones.
const ACTIVE: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Text that stays text.
pub(super) fn guard(text: &str) -> Cow<'_, str> {
    if text.starts_with(ACTIVE) { format!("'{text}").into() } else { text.into() }
}

/// See the module.
pub(super) struct Sheet;

/// The column that marks rows from before the range.
const STOOD: &str = "in_force_at_from";

fn line(cells: &[impl AsRef<[u8]>], out: &mut Out) -> Result<(), Fault> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out.buffer());
    writer.write_record(cells).map_err(Fault::unexpected)?;
    writer.flush().map_err(Fault::unexpected)
}

impl Sheet {
    fn row<R: Record>(row: &R, stood: &str, out: &mut Out) -> Result<(), Fault> {
        let mut cells = row.cells().done();
        if R::STOOD {
            cells.insert(1, stood.to_owned());
        }
        line(&cells, out)
    }
}

impl Shape for Sheet {
    fn open<R: Record>(&mut self, _about: &About, out: &mut Out) -> Result<(), Fault> {
        let mut head = R::HEAD.to_vec();
        if R::STOOD {
            head.insert(1, STOOD);
        }
        line(&head, out)
    }

    fn stood<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault> {
        Self::row(row, "true", out)
    }

    fn row<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault> {
        Self::row(row, "false", out)
    }

    fn gap<R: Record>(&mut self, about: &About, gap: &Missing, out: &mut Out) -> Result<(), Fault> {
        let Some((kind, detail)) = R::GAP else { return Ok(()) };
        let said = serde_json::to_string(gap).map_err(Fault::unexpected)?;
        let cell = |column: &&str| match *column {
            "seq" => gap.first.to_string(),
            "node" => guard(&about.node).into_owned(),
            "at_utc" => gap.first_at.to_string(),
            column if column == kind => "gap".to_owned(),
            column if column == detail => said.clone(),
            _ => String::new(),
        };
        let mut cells: Vec<String> = R::HEAD.iter().map(cell).collect();
        if R::STOOD {
            cells.insert(1, "false".to_owned());
        }
        line(&cells, out)
    }

    fn close(&mut self, _tally: &Tally, _out: &mut Out) -> Result<(), Fault> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r46_a_cell_that_could_be_a_formula_is_text() {
        for active in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠SUM(A1)"] {
            assert_eq!(guard(active), format!("'{active}"));
        }
        for plain in ["", "a=1", "GET", "'=1", " =1", "{\"a\":1}"] {
            assert_eq!(guard(plain), plain);
        }
    }
}
