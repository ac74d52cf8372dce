ALTER TABLE event_rows
    ADD INDEX IF NOT EXISTS by_event_id event_id TYPE bloom_filter(0.001) GRANULARITY 1;

ALTER TABLE event_rows MATERIALIZE INDEX by_event_id;

ALTER TABLE delivery_outcomes
    ADD INDEX IF NOT EXISTS by_event_id event_id TYPE bloom_filter(0.001) GRANULARITY 1;

ALTER TABLE delivery_outcomes MATERIALIZE INDEX by_event_id;

ALTER TABLE delivery_outcomes
    ADD COLUMN IF NOT EXISTS answer_status Int32 DEFAULT 0 COMMENT 'Status of HTTP of the destination''s answer; 0 where there was none, or none was kept',
    ADD COLUMN IF NOT EXISTS answer String DEFAULT '' COMMENT 'The begin of what the destination answered, without personal data and secrets' CODEC(ZSTD(1));
