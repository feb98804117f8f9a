//! Many rows out of SQLite as one, each of their columns a list: a row costs several times more on its way through the
//! driver than in the database, and a lane is made of thousands.
//!
//! In SQL: `group_concat(a) || '|' || group_concat(b)`, of columns that are never null.

/// The columns of what was packed so, none where there was no row or when they are not as many.
pub(super) fn columns<const N: usize>(packed: Option<&str>) -> Option<[&str; N]> {
    packed?.split('|').collect::<Vec<_>>().try_into().ok()
}

/// A column of numbers.
pub(super) fn numbers(column: &str) -> impl Iterator<Item = i64> {
    let (mut bytes, mut over) = (column.bytes(), column.is_empty());
    std::iter::from_fn(move || {
        let (mut number, mut below) = (0_i64, false);
        while !over {
            match bytes.next() {
                None => over = true,
                Some(b',') => return Some(if below { -number } else { number }),
                Some(b'-') => below = true,
                Some(digit) => number = number.wrapping_mul(10).wrapping_add(i64::from(digit.wrapping_sub(b'0'))),
            }
            if over {
                return Some(if below { -number } else { number });
            }
        }
        None
    })
}

/// One of a column of bytes, packed with `hex`.
pub(super) fn bytes(digits: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap_or(0) as u8;
    digits.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The rows of what was packed so, when all of their columns are numbers.
pub(super) fn rows_of<const N: usize>(packed: Option<&str>) -> impl Iterator<Item = [i64; N]> {
    let mut columns = columns::<N>(packed).map(|columns| columns.map(numbers));
    std::iter::from_fn(move || {
        let row = columns.as_mut()?.each_mut().map(Iterator::next);
        row.iter().all(Option::is_some).then(|| row.map(Option::unwrap_or_default))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were_packed() {
        let rows = |packed| rows_of::<2>(packed).collect::<Vec<_>>();
        assert_eq!(rows(Some("1,-20,9223372036854775807|0,5,-1")), [[1, 0], [-20, 5], [i64::MAX, -1]]);
        assert_eq!(rows(Some("7|8")), [[7, 8]]);
        assert_eq!((rows(None), rows(Some("1,2"))), (vec![], vec![]));
        assert_eq!(rows(Some("1,2|3")), [[1, 3]], "no row is made up");
        assert_eq!((bytes(""), bytes("00FF1a")), (vec![], vec![0, 255, 26]));
    }
}
