ALTER TABLE event_rows MODIFY SETTING deduplicate_merge_projection_mode = 'rebuild';

ALTER TABLE event_rows
    ADD PROJECTION IF NOT EXISTS rows_by_person (SELECT _part_offset ORDER BY site_id, person_hash) WITH SETTINGS (index_granularity = 512),
    ADD PROJECTION IF NOT EXISTS persons_by_visitor (SELECT site_id, cityHash64(distinct_id), arrived_person_id GROUP BY site_id, cityHash64(distinct_id), arrived_person_id) WITH SETTINGS (index_granularity = 512);

ALTER TABLE event_rows MATERIALIZE PROJECTION rows_by_person;

ALTER TABLE event_rows MATERIALIZE PROJECTION persons_by_visitor;

ALTER TABLE person_links
    ADD INDEX IF NOT EXISTS by_target target TYPE bloom_filter(0.001) GRANULARITY 1;

ALTER TABLE person_links MATERIALIZE INDEX by_target;
