-- Who is being erased, while that goes on. Statements that delete rows read it: their own texts are kept for long, and would hold
-- the ids.

CREATE TABLE erasing
(
    site_id LowCardinality(String) COMMENT 'The site of the person',
    erasure_id String COMMENT 'The erasure',
    kind LowCardinality(String) COMMENT 'What value is: person, email, phone, external_id, or event',
    value String COMMENT 'As the rows have it; of an event its digest',
    until DateTime64(3, 'UTC') COMMENT 'Rows that only say an identifier, and happened and arrived later, stay'
)
ENGINE = MergeTree
ORDER BY (kind, site_id, value)
TTL toDateTime(until) + toIntervalDay(60)
SETTINGS non_replicated_deduplication_window = 0;
