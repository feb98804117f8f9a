DROP TABLE jumps;
