-- When persons were last seen, of sites that keep these for some days only. It is noted once a day from the events that are stored, so
-- that to insert them costs no more; and it holds longer than they do.

CREATE TABLE person_seen
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    person_hash UInt64 COMMENT 'Digest of a person; 0: when all of the site were looked through last',
    seen_at DateTime('UTC') COMMENT 'When an event of theirs last arrived, as far as it was noted; the newest counts'
)
ENGINE = ReplacingMergeTree(seen_at)
ORDER BY (site_id, person_hash)
SETTINGS non_replicated_deduplication_window = 0;
