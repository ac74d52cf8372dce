ALTER TABLE event_rows
    MODIFY COLUMN timestamp CODEC(T64, LZ4),
    MODIFY COLUMN received_at CODEC(T64, LZ4);

ALTER TABLE event_rows
    ADD COLUMN IF NOT EXISTS person_id String ALIAS dictGetOrDefault('{database_name}.person_overrides', 'target', (site_id, arrived_person_id), arrived_person_id) COMMENT 'The person as known now',
    ADD COLUMN IF NOT EXISTS actor UInt64 ALIAS dictGetOrDefault('{database_name}.person_hashes', 'target', cityHash64(site_id, person_hash), person_hash) COMMENT 'Digest of person_id, for the query API';
