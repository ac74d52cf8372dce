CREATE TABLE duplicates
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    event_id String COMMENT 'The event that was sent again' CODEC(ZSTD(1)),
    received_at DateTime64(3, 'UTC') COMMENT 'When the copy arrived at the edge' CODEC(Delta, ZSTD(1)),
    key_id LowCardinality(String) COMMENT 'The key the copy came with: the first 16 characters of its SHA-256; empty where that was not kept',
    raw_partition Int32 COMMENT 'Partition of the copy''s record in events.raw',
    raw_offset Int64 COMMENT 'Offset of the copy''s record in events.raw',
    raw_index Int32 COMMENT 'Place of the copy in that record',
    first_partition Int32 COMMENT 'Partition of the record in events.raw that holds the event that passed',
    first_offset Int64 COMMENT 'Offset of that record',
    first_index Int32 COMMENT 'Place of the event in that record',
    times UInt32 COMMENT 'How many copies it stands for; sum it'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (site_id, event_id, received_at, raw_partition, raw_offset, raw_index)
TTL toDateTime(received_at) + toIntervalDay(30)
SETTINGS non_replicated_deduplication_window = 10000;
