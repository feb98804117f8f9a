-- One index for a breaker's probes by number and for their marks: each row that is written touches one page less of
-- those that are spread over all breakers.
DROP INDEX probes_by_breaker;
DROP INDEX probes_marks;
CREATE INDEX probes_of_breaker ON probes (breaker, seq, at, outcome);
