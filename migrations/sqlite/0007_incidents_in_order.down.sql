DROP INDEX incidents_in_order;
