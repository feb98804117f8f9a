//! One JSON object a line: first what the file is, then the rows as the API shows them, last how many there are. A file
//! without its last line was cut off.

use serde::Serialize;

use super::{
    About, Tally,
    json::push,
    out::Out,
    rows::{Record, Shape},
};
use crate::fault::Fault;

/// See the module.
pub(super) struct Lines;

#[derive(Serialize)]
struct First<'a> {
    export: &'a About,
}

#[derive(Serialize)]
struct Last<'a> {
    end: &'a Tally,
}

/// A row that stood already when the range began.
#[derive(Serialize)]
struct Stood<'a, R> {
    in_force_at_from: bool,
    #[serde(flatten)]
    row: &'a R,
}

fn line(value: &impl Serialize, out: &mut Out) -> Result<(), Fault> {
    push(value, out)?;
    out.text("\n");
    Ok(())
}

impl Shape for Lines {
    fn open<R: Record>(&mut self, about: &About, out: &mut Out) -> Result<(), Fault> {
        line(&First { export: about }, out)
    }

    fn stood<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault> {
        line(&Stood { in_force_at_from: true, row }, out)
    }

    fn row<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault> {
        line(row, out)
    }

    fn close(&mut self, tally: &Tally, out: &mut Out) -> Result<(), Fault> {
        line(&Last { end: tally }, out)
    }
}
