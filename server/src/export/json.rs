//! One JSON object: what the file is, the rows as the API shows them, and at the end how many there are. A file that
//! was cut off is no JSON.

use serde::Serialize;

use super::{
    About, Tally,
    out::Out,
    rows::{Record, Shape},
};
use crate::fault::Fault;

/// Adds a value.
pub(super) fn push(value: &impl Serialize, out: &mut Out) -> Result<(), Fault> {
    serde_json::to_writer(out.buffer(), value).map_err(Fault::unexpected)
}

/// Which list is being written.
#[derive(Default, PartialEq)]
enum List {
    #[default]
    None,
    Stood,
    Rows,
}

/// See the module.
#[derive(Default)]
pub(super) struct Object {
    list: List,
    first: bool,
}

impl Object {
    fn begin(&mut self, list: List, out: &mut Out) {
        if self.list == list {
            return;
        }
        if self.list == List::Stood {
            out.text("\n],\n");
        }
        out.text(if list == List::Stood { "\"in_force_at_from\":[" } else { "\"rows\":[" });
        (self.list, self.first) = (list, true);
    }

    fn item(&mut self, row: &impl Serialize, out: &mut Out) -> Result<(), Fault> {
        out.text(if std::mem::take(&mut self.first) { "\n" } else { ",\n" });
        push(row, out)
    }
}

impl Shape for Object {
    fn open<R: Record>(&mut self, about: &About, out: &mut Out) -> Result<(), Fault> {
        out.text("{\"export\":");
        push(about, out)?;
        out.text(",\n");
        self.begin(if R::STOOD { List::Stood } else { List::Rows }, out);
        Ok(())
    }

    fn stood<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault> {
        self.item(row, out)
    }

    fn row<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault> {
        self.begin(List::Rows, out);
        self.item(row, out)
    }

    fn close(&mut self, tally: &Tally, out: &mut Out) -> Result<(), Fault> {
        self.begin(List::Rows, out);
        out.text("\n],\n\"end\":");
        push(tally, out)?;
        out.text("}\n");
        Ok(())
    }
}
