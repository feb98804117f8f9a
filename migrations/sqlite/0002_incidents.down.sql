DROP TABLE incident_calls;
DROP TABLE incidents;
