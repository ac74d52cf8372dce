-- Who is in the lists of sites' cohorts. A person is resolved as rows of events are: whoever that is when it is asked.

CREATE TABLE cohort_members
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    list String COMMENT 'The list: that of a cohort, which has another one once it was emptied',
    kind LowCardinality(String) COMMENT 'What value is: person, email, phone or external_id',
    value String COMMENT 'As the rows of events have it: a person as derived from a distinct id, or a hash' CODEC(ZSTD(1)),
    added_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'When it was added',
    person_hash UInt64 MATERIALIZED cityHash64(value) COMMENT 'Digest of the person',
    person_key UInt64 ALIAS cityHash64(site_id, person_hash) COMMENT 'Its key in the dictionaries of merged persons',
    recent_actor UInt64 ALIAS dictGet('{database_name}.merged_persons_recent', 'actor', person_key) COMMENT 'Digest of the person as known now, where that changed of late; else 0',
    actor UInt64 ALIAS if(recent_actor != 0, recent_actor, dictGetOrDefault('{database_name}.merged_persons_base', 'actor', if(recent_actor != 0, 0, person_key), person_hash)) COMMENT 'Digest of the person as known now'
)
ENGINE = ReplacingMergeTree(added_at)
ORDER BY (site_id, list, kind, value)
SETTINGS non_replicated_deduplication_window = 0;
