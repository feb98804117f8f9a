-- One breaker from leaving closed (or being forced open while closed) until it is closed and not forced open. Kept by
-- the writer in the commit of the rows that make it.
CREATE TABLE incidents (
    seq            INTEGER PRIMARY KEY, -- the opening row's number
    boot           INTEGER NOT NULL REFERENCES runs (boot),
    breaker        INTEGER NOT NULL REFERENCES breakers (key),
    kind           TEXT    NOT NULL CHECK (kind IN ('tripped', 'held')),
    started_at     INTEGER NOT NULL,
    ended_at       INTEGER,
    last_seq       INTEGER, -- the closing row's number
    marked_at      INTEGER NOT NULL, -- down and unknown are complete up to here
    is_down        INTEGER NOT NULL, -- from there on
    down           INTEGER NOT NULL,
    unknown        INTEGER NOT NULL,
    opens          INTEGER NOT NULL,
    good           INTEGER NOT NULL,
    bad            INTEGER NOT NULL,
    lost           INTEGER NOT NULL,
    void           INTEGER NOT NULL,
    overrides      INTEGER NOT NULL,
    cause          TEXT    NOT NULL, -- JSON, the opening row's, without the deciding calls
    actor          TEXT,
    actor_verified INTEGER,
    actor_via      TEXT,
    reason         TEXT,
    ended_by       TEXT -- JSON, the closing row's cause, without the deciding calls
) STRICT;
CREATE INDEX incidents_by_breaker ON incidents (breaker, seq);
CREATE INDEX incidents_open ON incidents (breaker, seq) WHERE ended_at IS NULL;

-- What was counted in an incident, absolute, so that writing it twice is harmless.
CREATE TABLE incident_calls (
    incident INTEGER PRIMARY KEY,
    failed   INTEGER NOT NULL,
    refused  INTEGER NOT NULL,
    paths    TEXT    NOT NULL, -- JSON: [[path, refused], …], most first
    agents   TEXT    NOT NULL  -- JSON: [[user agent, refused], …], most first
) STRICT;

-- What was recorded before there was this table.
INSERT INTO incidents
WITH steps AS (
    SELECT *, to_state <> 'closed' OR held IS 'forced_open' AS lasts,
        lag(to_state <> 'closed' OR held IS 'forced_open', 1, 0) OVER chain AS lasted,
        CASE held WHEN 'forced_open' THEN 1 WHEN 'forced_closed' THEN 0 ELSE to_state <> 'closed' END AS is_down,
        lead(at) OVER chain AS until
    FROM transitions WINDOW chain AS (PARTITION BY breaker ORDER BY seq)
),
inside AS (
    SELECT *, max(CASE WHEN lasts AND NOT lasted THEN seq END) OVER (PARTITION BY breaker ORDER BY seq) AS incident
    FROM steps WHERE lasts OR lasted
),
unwatched AS (
    SELECT * FROM (SELECT coalesce(ended_at, alive_at) AS began, lead(started_at) OVER (ORDER BY boot) AS ended FROM runs)
    WHERE ended > began
),
stretches AS (
    SELECT incident, is_down, max(until - at, 0) AS length,
        (SELECT coalesce(sum(max(min(ended, until) - max(began, at), 0)), 0) FROM unwatched) AS unknown
    FROM inside WHERE lasts AND until IS NOT NULL
),
lengths AS (
    SELECT incident, sum(CASE WHEN is_down THEN length - unknown ELSE 0 END) AS down, sum(unknown) AS unknown
    FROM stretches GROUP BY incident
),
courses AS (
    SELECT incident, sum(to_state = 'open' AND from_state <> 'open') AS opens,
        sum(json_extract(cause, '$.kind') = 'override_set') AS overrides,
        max(CASE WHEN NOT lasts THEN seq END) AS last_seq, max(seq) AS newest
    FROM inside GROUP BY incident
),
probed AS (
    SELECT incident, sum(outcome IN ('success', 'alive')) AS good, sum(outcome = 'failure') AS bad,
        sum(outcome = 'lost') AS lost, sum(outcome IN ('ignored', 'cancelled', 'late')) AS void
    FROM courses JOIN transitions AS opening ON opening.seq = incident
    JOIN probes ON probes.breaker = opening.breaker AND probes.seq > incident
        AND probes.seq < coalesce(last_seq, 9223372036854775807)
    GROUP BY incident
)
SELECT opening.seq, opening.boot, opening.breaker, CASE opening.to_state WHEN 'closed' THEN 'held' ELSE 'tripped' END,
    opening.at, closing.at, last_seq, newest.at,
    CASE newest.held WHEN 'forced_open' THEN 1 WHEN 'forced_closed' THEN 0 ELSE newest.to_state <> 'closed' END,
    coalesce(down, 0), coalesce(unknown, 0), opens,
    coalesce(good, 0), coalesce(bad, 0), coalesce(lost, 0), coalesce(void, 0), overrides,
    json_remove(opening.cause, '$.evidence'), opening.actor, opening.actor_verified, opening.actor_via, opening.reason,
    json_remove(closing.cause, '$.evidence')
FROM courses
JOIN transitions AS opening ON opening.seq = courses.incident
JOIN transitions AS newest ON newest.seq = courses.newest
LEFT JOIN transitions AS closing ON closing.seq = courses.last_seq
LEFT JOIN lengths USING (incident)
LEFT JOIN probed USING (incident);

INSERT INTO incident_calls
SELECT seq,
    CASE json_extract(cause, '$.rule') WHEN 'slow_rate' THEN 0 ELSE coalesce(json_extract(cause, '$.counts.have'), 0) END
        + bad + lost,
    (SELECT coalesce(sum(refused), 0) FROM calls WHERE calls.breaker = incidents.breaker
        AND at > started_at - 60000000 AND at <= coalesce(ended_at, 9223372036854775807)),
    '[]', '[]'
FROM incidents;
