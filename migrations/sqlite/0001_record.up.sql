-- The record. Times and lengths are integer microseconds; a number (`seq`) is the order of everything an operator may
-- read, shared by transitions, probes, audit and gaps. Rows name the run that wrote them (`boot`), since numbers that
-- were never written before a crash are given out again.

-- 'Fuse': tells our file from any other.
PRAGMA application_id = 1182102373;

-- One process, from start to end. Time no run covers is time not watched.
CREATE TABLE runs (
    boot       INTEGER PRIMARY KEY AUTOINCREMENT,
    started_at INTEGER NOT NULL,
    alive_at   INTEGER NOT NULL,
    ended_at   INTEGER,
    version    TEXT    NOT NULL,
    pid        INTEGER NOT NULL,
    node       TEXT    NOT NULL
) STRICT;

-- Every breaker ever seen, with what a restart needs. `key` keeps the long tables narrow.
CREATE TABLE breakers (
    key            INTEGER PRIMARY KEY,
    id             TEXT    NOT NULL UNIQUE,
    policy         TEXT    NOT NULL,
    first_at       INTEGER NOT NULL,
    evicted        INTEGER NOT NULL DEFAULT 0,
    changed_seq    INTEGER NOT NULL DEFAULT 0,
    state          TEXT    NOT NULL DEFAULT 'closed' CHECK (state IN ('closed', 'open', 'half_open')),
    since          INTEGER NOT NULL,
    attempt        INTEGER NOT NULL DEFAULT 0,
    wait           INTEGER NOT NULL DEFAULT 0,
    next_probe_at  INTEGER,
    down_since     INTEGER,
    opens          INTEGER NOT NULL DEFAULT 0,
    held_mode      TEXT CHECK (held_mode IN ('forced_open', 'forced_closed')),
    held_reason    TEXT,
    held_by        TEXT,
    held_verified  INTEGER,
    held_via       TEXT,
    held_since     INTEGER,
    held_length    INTEGER,
    held_until     INTEGER,
    cooldown_until INTEGER
) STRICT;

CREATE TABLE transitions (
    seq            INTEGER PRIMARY KEY,
    boot           INTEGER NOT NULL REFERENCES runs (boot),
    breaker        INTEGER NOT NULL REFERENCES breakers (key),
    at             INTEGER NOT NULL,
    from_state     TEXT    NOT NULL CHECK (from_state IN ('closed', 'open', 'half_open')),
    to_state       TEXT    NOT NULL CHECK (to_state IN ('closed', 'open', 'half_open')),
    held           TEXT CHECK (held IN ('forced_open', 'forced_closed')),
    generation     INTEGER NOT NULL,
    cause          TEXT    NOT NULL, -- JSON: kind and the fields that explain it
    actor          TEXT,
    actor_verified INTEGER,
    actor_via      TEXT,
    reason         TEXT
) STRICT;
CREATE INDEX transitions_by_breaker ON transitions (breaker, seq);
-- Covers a lane, so that drawing one never touches the causes.
CREATE INDEX transitions_lane ON transitions (breaker, at, seq, from_state, to_state, held);
CREATE INDEX transitions_by_time ON transitions (at);

CREATE TABLE probes (
    seq        INTEGER PRIMARY KEY,
    boot       INTEGER NOT NULL REFERENCES runs (boot),
    breaker    INTEGER NOT NULL REFERENCES breakers (key),
    at         INTEGER NOT NULL,
    duration   INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    outcome    TEXT    NOT NULL,
    phase      TEXT,
    why        TEXT,
    status     INTEGER,
    error      TEXT,
    method     TEXT,
    path       TEXT,
    synthetic  INTEGER NOT NULL
) STRICT;
CREATE INDEX probes_by_breaker ON probes (breaker, seq);
CREATE INDEX probes_marks ON probes (breaker, at, outcome);
CREATE INDEX probes_by_time ON probes (at);

-- Totals of one breaker in one minute (`at` is its start) of one run, absolute, so that writing them twice is harmless.
CREATE TABLE calls (
    breaker   INTEGER NOT NULL REFERENCES breakers (key),
    at        INTEGER NOT NULL,
    boot      INTEGER NOT NULL REFERENCES runs (boot),
    success   INTEGER NOT NULL,
    failure   INTEGER NOT NULL,
    alive     INTEGER NOT NULL,
    ignored   INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    refused   INTEGER NOT NULL,
    late      INTEGER NOT NULL,
    latency   BLOB    NOT NULL, -- counts in fixed log buckets, sparse; mergeable
    PRIMARY KEY (breaker, at, boot)
) STRICT, WITHOUT ROWID;
CREATE INDEX calls_by_time ON calls (at);

-- The life of each override; `seq` is the transition that set, changed or ended it.
CREATE TABLE overrides (
    seq            INTEGER PRIMARY KEY,
    breaker        INTEGER NOT NULL REFERENCES breakers (key),
    at             INTEGER NOT NULL,
    what           TEXT    NOT NULL CHECK (what IN ('set', 'changed', 'ended')),
    mode           TEXT    NOT NULL CHECK (mode IN ('forced_open', 'forced_closed')),
    reason         TEXT,
    actor          TEXT,
    actor_verified INTEGER,
    actor_via      TEXT,
    until          INTEGER
) STRICT;
CREATE INDEX overrides_by_breaker ON overrides (breaker, seq);

CREATE TABLE audit (
    seq            INTEGER PRIMARY KEY,
    boot           INTEGER NOT NULL REFERENCES runs (boot),
    at             INTEGER NOT NULL,
    actor          TEXT    NOT NULL,
    actor_verified INTEGER NOT NULL,
    actor_via      TEXT    NOT NULL,
    action         TEXT    NOT NULL,
    breaker        INTEGER REFERENCES breakers (key),
    reason         TEXT,
    detail         TEXT    NOT NULL -- JSON object
) STRICT;
CREATE INDEX audit_by_breaker ON audit (breaker, seq);
CREATE INDEX audit_by_time ON audit (at);

-- Facts given up because the store refused them for too long: numbers absent elsewhere are inside one of these.
CREATE TABLE gaps (
    first       INTEGER PRIMARY KEY,
    last        INTEGER NOT NULL,
    boot        INTEGER NOT NULL REFERENCES runs (boot),
    first_at    INTEGER NOT NULL,
    last_at     INTEGER NOT NULL,
    transitions INTEGER NOT NULL,
    probes      INTEGER NOT NULL,
    audit       INTEGER NOT NULL
) STRICT;
CREATE INDEX gaps_by_last ON gaps (last);
