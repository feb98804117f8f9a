//! `fuseboard`: see `fuseboard help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fuseboard::cli::main()
}
