-- A copy that is called otherwise than the event is no copy: its sender gave one id to two events.

ALTER TABLE duplicates
    ADD COLUMN IF NOT EXISTS event LowCardinality(String) COMMENT 'Name of the copy; empty where that was not kept' AFTER event_id;
