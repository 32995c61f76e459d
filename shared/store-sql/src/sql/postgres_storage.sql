-- How PostgreSQL stores the tables whose rows change or go soon. It writes a changed row anew; a page that
-- is not full has room for it, so that indexes need not change. What is left behind is removed after some
-- hundreds of changes instead of a fifth of a table.

ALTER TABLE messages SET (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_insert_scale_factor = 0.1, autovacuum_analyze_scale_factor = 0.1,
  autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE timers SET (
  fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE attempts SET (
  fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 1
);
ALTER TABLE seats SET (
  autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200, autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE collections SET (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200
);
ALTER TABLE turns SET (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200
);
ALTER TABLE slots SET (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200
);
ALTER TABLE pulses SET (
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200
);
ALTER TABLE signs SET (
  fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200,
  autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE presence SET (
  fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200
);
ALTER TABLE pings SET (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 200
);
ALTER TABLE meta SET (
  fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200,
  autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE quarters SET (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 500
);
