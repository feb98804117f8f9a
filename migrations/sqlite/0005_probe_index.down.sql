DROP INDEX probes_of_breaker;
CREATE INDEX probes_by_breaker ON probes (breaker, seq);
CREATE INDEX probes_marks ON probes (breaker, at, outcome);
