DROP TABLE incident_upstreams;
ALTER TABLE incidents DROP COLUMN upstreams;
