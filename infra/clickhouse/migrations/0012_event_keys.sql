ALTER TABLE event_rows
    ADD COLUMN IF NOT EXISTS key_id LowCardinality(String) DEFAULT '' COMMENT 'The key it was accepted with: the first 16 characters of its SHA-256; empty where that was not kept';
