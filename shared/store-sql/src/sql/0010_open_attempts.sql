-- Of an attempt whose target is at work: its deadline, how it ended, and what was last said of its progress.
ALTER TABLE attempts ADD COLUMN open_until INTEGER;
ALTER TABLE attempts ADD COLUMN ending TEXT;
ALTER TABLE attempts ADD COLUMN progress TEXT;
