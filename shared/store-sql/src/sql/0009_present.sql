-- The attempts that have not ended, and the jobs of which attempts wait for their turn: few, among many rows.
CREATE INDEX attempts_present ON attempts (lease_until) WHERE ended_at IS NULL;
CREATE INDEX turns_waiting ON turns (job_uid) WHERE waiting <> '';
