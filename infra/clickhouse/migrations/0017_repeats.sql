CREATE TABLE repeat_checks
(
    place String COMMENT 'Number of the shard, 0 where there is one server, a slash, and the partition of event_rows',
    checked_below Int64 COMMENT 'All rows of parts whose blocks are below this one were looked for elsewhere',
    checked_at DateTime64(3, 'UTC') COMMENT 'When; the newest counts'
)
ENGINE = ReplacingMergeTree(checked_at)
ORDER BY place
SETTINGS non_replicated_deduplication_window = 0;

CREATE TABLE repeated_events
(
    site_id LowCardinality(String) COMMENT 'The site that the event belongs to',
    event_hash UInt64 COMMENT 'Digest of the id of an event that was found to stand there more than once; it may not any more',
    found_at DateTime('UTC') COMMENT 'When it was found'
)
ENGINE = ReplacingMergeTree(found_at)
ORDER BY (site_id, event_hash)
SETTINGS non_replicated_deduplication_window = 0;
