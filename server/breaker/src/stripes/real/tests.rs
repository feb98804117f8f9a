use std::sync::Barrier;

use super::*;

#[test]
fn every_thread_counts_and_a_used_column_starts_at_zero() {
    const THREADS: usize = SLOTS + 4;
    let column = Column::new();
    let together = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                together.wait();
                for _ in 0..1_000 {
                    column.admit();
                    column.succeed();
                }
                together.wait();
            });
        }
    });
    assert_eq!((column.admitted(), column.succeeded()), (THREADS as u64 * 1_000, THREADS as u64 * 1_000));
    drop(column);
    let again: Vec<Column> = (0..2 * COLUMNS).map(|_| Column::new()).collect();
    assert!(again.iter().all(|column| column.admitted() == 0 && column.refused() == 0));
}

#[test]
fn columns_do_not_touch_each_other() {
    let columns: Vec<Column> = (0..2 * COLUMNS + 1).map(|_| Column::new()).collect();
    for (times, column) in columns.iter().enumerate() {
        (0..times).for_each(|_| column.refuse());
    }
    assert!(columns.iter().enumerate().all(|(times, column)| column.refused() == times as u64));
}

#[test]
fn a_column_given_back_is_free_again_and_no_other_is() {
    let block = Arc::new(Block::default());
    block.used.store(1 << 5 | 1, Ordering::Relaxed);
    drop(Column { block: block.clone(), index: 5 });
    assert_eq!(block.used.load(Ordering::Relaxed), 1);
}
