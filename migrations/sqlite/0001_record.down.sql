DROP TABLE gaps;
DROP TABLE audit;
DROP TABLE overrides;
DROP TABLE calls;
DROP TABLE probes;
DROP TABLE transitions;
DROP TABLE breakers;
DROP TABLE runs;
PRAGMA application_id = 0;
