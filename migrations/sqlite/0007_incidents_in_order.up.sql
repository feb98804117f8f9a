-- Picks incidents of many breakers out of all of them without reading the rest of each.
CREATE INDEX incidents_in_order ON incidents (seq, breaker);
