CREATE TABLE event_rows
(
    site_id LowCardinality(String),
    event_id String CODEC(ZSTD(1)),
    distinct_id String CODEC(ZSTD(1)),
    arrived_person_id String COMMENT 'The person as known when the event arrived; later merges are in person_links' CODEC(ZSTD(1)),
    event LowCardinality(String),
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened' CODEC(Delta, ZSTD(1)),
    received_at DateTime64(3, 'UTC') COMMENT 'Arrival at the edge' CODEC(Delta, ZSTD(1)),
    original_timestamp Nullable(String) COMMENT 'As sent, where timestamp was replaced by arrival',
    mode LowCardinality(String),
    action_source LowCardinality(String),
    caller LowCardinality(String) COMMENT 'browser or server key',
    identify Bool,
    email_sha256 String COMMENT 'SHA-256 of the trimmed, lower-case e-mail; empty where none',
    phone_sha256 String COMMENT 'SHA-256 of the E.164 number with its plus; empty where none',
    first_name_sha256 String,
    last_name_sha256 String,
    external_id_sha256 String,
    city String,
    state String,
    zip String,
    country LowCardinality(String),
    client_ip String,
    client_user_agent String CODEC(ZSTD(1)),
    value Nullable(Float64),
    currency LowCardinality(String),
    order_id String,
    properties String COMMENT 'The remaining properties as a JSON object' CODEC(ZSTD(3)),
    raw_partition Int32 COMMENT 'Coordinate in events.raw',
    raw_offset Int64,
    raw_index Int32
)
ENGINE = ReplacingMergeTree(received_at)
PARTITION BY toYYYYMM(timestamp)
ORDER BY (site_id, toDate(timestamp), event, cityHash64(distinct_id), event_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE person_links
(
    site_id LowCardinality(String),
    person_id String,
    target String COMMENT 'The person it is part of now',
    first_seen DateTime64(3, 'UTC'),
    version UInt64
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (site_id, person_id)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE DICTIONARY person_overrides
(
    site_id String,
    person_id String,
    target String
)
PRIMARY KEY site_id, person_id
SOURCE(CLICKHOUSE(
    USER {user}
    PASSWORD {password}
    DB {database}
    QUERY 'SELECT site_id, person_id, argMax(target, version) AS target FROM {database_name}.person_links GROUP BY site_id, person_id HAVING target != person_id'
))
LIFETIME(MIN 1 MAX 2)
LAYOUT(COMPLEX_KEY_HASHED());

CREATE VIEW events AS
SELECT
    site_id,
    event_id,
    distinct_id,
    dictGetOrDefault('{database_name}.person_overrides', 'target', (site_id, arrived_person_id), arrived_person_id) AS person_id,
    * EXCEPT (site_id, event_id, distinct_id)
FROM event_rows;

CREATE TABLE quota_usage
(
    account_id LowCardinality(String),
    month String,
    partition Int32,
    used Int64,
    settled_offset Int64,
    settled_at DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree(settled_offset)
ORDER BY (account_id, month, partition)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE delivery_outcomes
(
    site_id LowCardinality(String),
    destination LowCardinality(String),
    event_id String CODEC(ZSTD(1)),
    event LowCardinality(String),
    coordinate_partition Int32,
    coordinate_offset Int64,
    coordinate_index Int32,
    outcome LowCardinality(String),
    reason LowCardinality(String),
    attempt Int32,
    received_at DateTime64(3, 'UTC'),
    attempted_at DateTime64(3, 'UTC'),
    took_ms Int32
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(attempted_at)
ORDER BY (site_id, destination, attempted_at)
SETTINGS non_replicated_deduplication_window = 10000;
