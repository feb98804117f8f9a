-- What a probe over gRPC has beside its status: the code by its name, and messages both ways.
ALTER TABLE probes ADD COLUMN code TEXT;
ALTER TABLE probes ADD COLUMN sent INTEGER;
ALTER TABLE probes ADD COLUMN received INTEGER;
