ALTER TABLE event_rows
    ADD COLUMN IF NOT EXISTS person_hash UInt64 MATERIALIZED cityHash64(arrived_person_id) COMMENT 'Digest of arrived_person_id, for queries that only tell people apart',
    ADD COLUMN IF NOT EXISTS event_hash UInt64 MATERIALIZED cityHash64(event_id) COMMENT 'Digest of event_id, for queries that only tell events apart';

CREATE DICTIONARY person_hashes
(
    hash UInt64,
    target UInt64
)
PRIMARY KEY hash
SOURCE(CLICKHOUSE(
    USER {user}
    PASSWORD {password}
    DB {database}
    QUERY 'SELECT cityHash64(site_id, cityHash64(person_id)) AS hash, cityHash64(argMax(links.target, version)) AS target FROM {database_name}.person_links AS links GROUP BY site_id, person_id HAVING argMax(links.target, version) != person_id'
))
LIFETIME(MIN 1 MAX 2)
LAYOUT(HASHED());

CREATE VIEW actor_events AS
SELECT
    dictGetOrDefault('{database_name}.person_hashes', 'target', cityHash64(site_id, person_hash), person_hash) AS actor,
    dictGetOrDefault('{database_name}.person_overrides', 'target', (site_id, arrived_person_id), arrived_person_id) AS person_id,
    event_hash,
    *
FROM event_rows
COMMENT 'Events with digests of their persons, merges resolved, and of their ids: for the query API';
