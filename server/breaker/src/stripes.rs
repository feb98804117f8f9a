//! The counters of the way that takes no lock: admitted calls, good ones, refused ones.
//!
//! A counter that two threads add to costs both a trip of its cache line, so each thread has a slot of its own and adds
//! with a plain load and store; whoever reads sums the slots up. Counters of many breakers share a lane per slot: a
//! breaker is a column in a block of them, 24 bytes in each lane, and lanes exist only for threads that called. So an
//! idle breaker stays small without anything having to be freed under a running call. Threads beyond the slots share
//! one lane and add atomically.

#[cfg(fuseboard_loom)]
pub(crate) use model::Column;
#[cfg(not(fuseboard_loom))]
pub(crate) use real::Column;

#[cfg(not(fuseboard_loom))]
mod real {
    use std::{
        cell::Cell,
        sync::{Arc, OnceLock},
    };

    use crate::sync::{AtomicU64, Mutex, Ordering};

    /// Threads that count without a locked instruction.
    const SLOTS: usize = 16;
    /// Breakers in a block.
    const COLUMNS: usize = 32;

    #[derive(Debug, Default)]
    struct Tally {
        admitted: AtomicU64,
        success: AtomicU64,
        refused: AtomicU64,
    }

    /// Aligned so that two threads' lanes never share a line, nor a pair of lines fetched together.
    #[derive(Debug, Default)]
    #[repr(align(128))]
    struct Lane([Tally; COLUMNS]);

    #[derive(Debug, Default)]
    struct Block {
        own: [OnceLock<Box<Lane>>; SLOTS],
        shared: OnceLock<Box<Lane>>,
        /// One bit for each column in use; written under `BLOCKS` alone.
        used: AtomicU64,
    }

    /// Blocks with a free column.
    static BLOCKS: Mutex<Vec<Arc<Block>>> = Mutex::new(Vec::new());
    /// One bit for each slot a living thread holds.
    static SLOTS_HELD: Mutex<u32> = Mutex::new(0);

    /// The calling thread's slot, or one of the two numbers below.
    const UNASKED: usize = usize::MAX;
    const NONE: usize = usize::MAX - 1;

    thread_local! {
        static SLOT: Cell<usize> = const { Cell::new(UNASKED) };
        /// Gives the slot back when the thread ends. Apart from `SLOT`, which so needs no destructor and stays a plain load.
        static HELD: Held = Held::take();
    }

    struct Held(usize);

    impl Held {
        fn take() -> Self {
            let mut held = SLOTS_HELD.lock();
            let slot = held.trailing_ones() as usize;
            if slot >= SLOTS {
                return Self(NONE);
            }
            *held |= 1 << slot;
            Self(slot)
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            SLOT.set(NONE);
            if self.0 < SLOTS {
                *SLOTS_HELD.lock() &= !(1 << self.0);
            }
        }
    }

    #[cold]
    fn ask_for_slot() -> usize {
        // A thread that is ending has none.
        let slot = HELD.try_with(|held| held.0).unwrap_or(NONE);
        SLOT.set(slot);
        slot
    }

    /// One breaker's counters.
    #[derive(Debug)]
    pub(crate) struct Column {
        block: Arc<Block>,
        index: usize,
    }

    impl Column {
        pub(crate) fn new() -> Self {
            let mut blocks = BLOCKS.lock();
            if blocks.is_empty() {
                blocks.push(Arc::new(Block::default()));
            }
            let block = blocks[blocks.len() - 1].clone();
            let used = block.used.load(Ordering::Relaxed);
            let index = used.trailing_ones() as usize % COLUMNS;
            let used = used | 1 << index;
            block.used.store(used, Ordering::Relaxed);
            if used.trailing_ones() as usize == COLUMNS {
                blocks.pop();
            }
            let column = Self { block, index };
            // Whoever had the column before left its numbers behind; nobody adds to them any more.
            for tally in column.tallies() {
                tally.admitted.store(0, Ordering::Relaxed);
                tally.success.store(0, Ordering::Relaxed);
                tally.refused.store(0, Ordering::Relaxed);
            }
            column
        }

        #[inline]
        pub(crate) fn admit(&self) {
            self.add(|tally| &tally.admitted);
        }

        #[inline]
        pub(crate) fn succeed(&self) {
            self.add(|tally| &tally.success);
        }

        #[inline]
        pub(crate) fn refuse(&self) {
            self.add(|tally| &tally.refused);
        }

        pub(crate) fn admitted(&self) -> u64 {
            self.sum(|tally| &tally.admitted)
        }

        pub(crate) fn succeeded(&self) -> u64 {
            self.sum(|tally| &tally.success)
        }

        pub(crate) fn refused(&self) -> u64 {
            self.sum(|tally| &tally.refused)
        }

        #[inline]
        fn add(&self, counter: impl Fn(&Tally) -> &AtomicU64) {
            if let Some(own) = self.block.own.get(SLOT.get())
                && let Some(lane) = own.get()
            {
                // Release, so that whoever sees a call ended sees it admitted too.
                let counter = counter(&lane.0[self.index % COLUMNS]);
                counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
            } else {
                self.add_slowly(counter);
            }
        }

        #[cold]
        fn add_slowly(&self, counter: impl Fn(&Tally) -> &AtomicU64) {
            let slot = match SLOT.get() {
                UNASKED => ask_for_slot(),
                slot => slot,
            };
            if let Some(own) = self.block.own.get(slot) {
                own.get_or_init(Box::default);
                self.add(counter);
            } else {
                let shared = self.block.shared.get_or_init(Box::default);
                counter(&shared.0[self.index % COLUMNS]).fetch_add(1, Ordering::Release);
            }
        }

        fn tallies(&self) -> impl Iterator<Item = &Tally> {
            let lanes = self.block.own.iter().chain([&self.block.shared]).filter_map(OnceLock::get);
            lanes.map(|lane| &lane.0[self.index % COLUMNS])
        }

        fn sum(&self, counter: impl Fn(&Tally) -> &AtomicU64) -> u64 {
            self.tallies().fold(0, |sum: u64, tally| sum.wrapping_add(counter(tally).load(Ordering::Acquire)))
        }
    }

    impl Drop for Column {
        fn drop(&mut self) {
            let mut blocks = BLOCKS.lock();
            let used = self.block.used.load(Ordering::Relaxed);
            self.block.used.store(used & !(1 << self.index), Ordering::Relaxed);
            if used.count_ones() as usize == COLUMNS {
                blocks.push(self.block.clone());
            }
            if used.count_ones() == 1 && blocks.len() > 1 {
                blocks.retain(|block| !Arc::ptr_eq(block, &self.block));
            }
        }
    }

    #[cfg(test)]
    mod tests;
}

/// Under loom: the same face over plain atomics, since loom knows neither thread slots nor lazily made lanes.
#[cfg(fuseboard_loom)]
mod model {
    use crate::sync::{AtomicU64, Ordering};

    #[derive(Debug)]
    pub(crate) struct Column {
        admitted: AtomicU64,
        success: AtomicU64,
        refused: AtomicU64,
    }

    impl Column {
        pub(crate) fn new() -> Self {
            Self { admitted: AtomicU64::new(0), success: AtomicU64::new(0), refused: AtomicU64::new(0) }
        }

        pub(crate) fn admit(&self) {
            self.admitted.fetch_add(1, Ordering::Release);
        }

        pub(crate) fn succeed(&self) {
            self.success.fetch_add(1, Ordering::Release);
        }

        pub(crate) fn refuse(&self) {
            self.refused.fetch_add(1, Ordering::Release);
        }

        pub(crate) fn admitted(&self) -> u64 {
            self.admitted.load(Ordering::Acquire)
        }

        pub(crate) fn succeeded(&self) -> u64 {
            self.success.load(Ordering::Acquire)
        }

        pub(crate) fn refused(&self) -> u64 {
            self.refused.load(Ordering::Acquire)
        }
    }
}
