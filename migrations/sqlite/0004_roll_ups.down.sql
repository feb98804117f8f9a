DROP INDEX transitions_cooldown;
DROP INDEX incidents_long;
DROP INDEX incidents_by_end;
DROP TABLE marks;
DROP TABLE numbered_days;
DROP TABLE rolled_calls;
DROP TABLE rolled_states;
