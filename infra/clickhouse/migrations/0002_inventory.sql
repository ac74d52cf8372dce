CREATE TABLE inventory
(
    site_id LowCardinality(String),
    page String,
    received_at DateTime64(3, 'UTC') COMMENT 'Arrival at the edge' CODEC(Delta, ZSTD(1)),
    inventory_id String COMMENT 'Of the submission; its elements share it',
    position UInt16 COMMENT 'Of the element in the submission',
    url String CODEC(ZSTD(1)),
    title String CODEC(ZSTD(1)),
    content_hash String,
    type LowCardinality(String),
    selector String CODEC(ZSTD(1)),
    text String CODEC(ZSTD(1)),
    href String CODEC(ZSTD(1)),
    event_hint LowCardinality(String)
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (site_id, page, received_at, inventory_id, position)
SETTINGS non_replicated_deduplication_window = 10000;
