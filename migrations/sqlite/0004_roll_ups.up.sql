-- What long ranges are drawn from, and what keeps the record from growing without bound.

-- How long, in milliseconds, each breaker was what in one stretch of UTC time (`span` is its length: six hours, a day). A
-- stretch that was watched whole and closed all along has no row. What the five leave of a stretch is unknown.
CREATE TABLE rolled_states (
    span          INTEGER NOT NULL,
    breaker       INTEGER NOT NULL REFERENCES breakers (key),
    at            INTEGER NOT NULL,
    closed        INTEGER NOT NULL,
    open          INTEGER NOT NULL,
    half_open     INTEGER NOT NULL,
    forced_open   INTEGER NOT NULL,
    forced_closed INTEGER NOT NULL,
    worst         INTEGER NOT NULL, -- of the automatic state: 0 closed, 1 half-open, 2 open; -1 nothing known
    PRIMARY KEY (span, breaker, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX rolled_states_by_time ON rolled_states (span, at);

-- Call totals of one breaker in one hour or day (`span`), the sum of its minutes.
CREATE TABLE rolled_calls (
    span      INTEGER NOT NULL,
    breaker   INTEGER NOT NULL REFERENCES breakers (key),
    at        INTEGER NOT NULL,
    success   INTEGER NOT NULL,
    failure   INTEGER NOT NULL,
    alive     INTEGER NOT NULL,
    ignored   INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    refused   INTEGER NOT NULL,
    late      INTEGER NOT NULL,
    latency   BLOB    NOT NULL,
    PRIMARY KEY (span, breaker, at)
) STRICT, WITHOUT ROWID;
CREATE INDEX rolled_calls_by_time ON rolled_calls (span, at);

-- The first and last number given out for one kind of row on one UTC day: turns a stretch of time into one of numbers,
-- also where the wall clock went back.
CREATE TABLE numbered_days (
    kind  TEXT    NOT NULL,
    day   INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    PRIMARY KEY (kind, day)
) STRICT, WITHOUT ROWID;
INSERT INTO numbered_days SELECT 'transitions', at / 86400000000, min(seq), max(seq) FROM transitions GROUP BY 2;
INSERT INTO numbered_days SELECT 'probes', at / 86400000000, min(seq), max(seq) FROM probes GROUP BY 2;
INSERT INTO numbered_days SELECT 'audit', at / 86400000000, min(seq), max(seq) FROM audit GROUP BY 2;

-- How far something has got: the newest number deleted of a kind (`deleted:…`), the time up to which rows of a kind may
-- be missing (`kept:…`), the time up to which something is rolled up (`rolled:…`).
CREATE TABLE marks (
    what  TEXT    PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX incidents_by_end ON incidents (ended_at);
-- Those that may reach into a day they did not begin in or before.
CREATE INDEX incidents_long ON incidents (seq) WHERE ended_at IS NULL OR ended_at - started_at >= 86400000000;
CREATE INDEX transitions_cooldown ON transitions (breaker, at)
    WHERE json_extract(cause, '$.kind') IN ('cooldown_started', 'cooldown_ended', 'reset', 'evicted');
