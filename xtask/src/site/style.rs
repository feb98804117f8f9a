//! One style sheet out of `style/main.css` and what it imports, in place and in order.

use std::{fs, path::Path};

use crate::Outcome;

pub(super) fn bundle(main: &Path) -> Outcome<Vec<u8>> {
    let mut sheet = String::new();
    if main.exists() {
        inline(main, &mut Vec::new(), &mut sheet)?;
    }
    Ok(sheet.into_bytes())
}

fn inline<'a>(file: &'a Path, open: &mut Vec<&'a Path>, sheet: &mut String) -> Outcome {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    for line in text.lines() {
        match imported(line) {
            Some(name) => {
                let path = file.with_file_name(name);
                if path == file || open.contains(&path.as_path()) {
                    return Err(format!("{}: imports itself through {name}", file.display()));
                }
                let mut open = open.clone();
                open.push(file);
                inline(&path, &mut open, sheet)?;
            }
            None => {
                sheet.push_str(line);
                sheet.push('\n');
            }
        }
    }
    Ok(())
}

/// `@import "tokens.css";` and `@import url("tokens.css");`, a line each.
fn imported(line: &str) -> Option<&str> {
    let rest = line.trim().strip_prefix("@import")?.trim_end_matches(';').trim();
    let rest = rest.strip_prefix("url(").and_then(|rest| rest.strip_suffix(')')).unwrap_or(rest);
    Some(rest.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_put_in_place_and_in_order() {
        let folder = std::env::temp_dir().join(format!("fuseboard-style-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("main.css"), "@import \"a.css\";\n@import url('b.css');\nmain {}\n").unwrap();
        fs::write(folder.join("a.css"), "a {}\n").unwrap();
        fs::write(folder.join("b.css"), "b {}\n").unwrap();
        assert_eq!(bundle(&folder.join("main.css")).unwrap(), b"a {}\nb {}\nmain {}\n");
        fs::write(folder.join("a.css"), "@import 'main.css';\n").unwrap();
        assert!(bundle(&folder.join("main.css")).unwrap_err().contains("imports itself"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
