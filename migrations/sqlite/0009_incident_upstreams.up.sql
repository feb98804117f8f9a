-- The names an incident's breaker was called by when it began: what is taken out of the configuration keeps its past.
ALTER TABLE incidents ADD COLUMN upstreams TEXT CHECK (json_valid(upstreams)); -- JSON: [name, …]; null in those recorded before

-- Breakers with incidents under a name.
CREATE TABLE incident_upstreams (
    upstream TEXT    NOT NULL,
    breaker  INTEGER NOT NULL REFERENCES breakers (key),
    PRIMARY KEY (upstream, breaker)
) STRICT, WITHOUT ROWID;
