-- Incidents of many breakers are taken out of each one's own, in line; nothing reads this.
DROP INDEX incidents_in_order;
