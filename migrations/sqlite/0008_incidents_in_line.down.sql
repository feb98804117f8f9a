CREATE INDEX incidents_in_order ON incidents (seq, breaker);
