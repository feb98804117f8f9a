-- What the wall clock of a run jumped over, set forward by hand or because the machine slept: time nobody watched.
CREATE TABLE jumps (
    boot    INTEGER NOT NULL REFERENCES runs (boot),
    from_at INTEGER NOT NULL,
    to_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX jumps_by_end ON jumps (to_at);
