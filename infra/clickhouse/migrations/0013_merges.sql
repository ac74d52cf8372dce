-- Merges for a third less (docs/decisions/README.md, 21): fewer buckets of properties where events have few, and merges of less than 512 MiB
-- by rows instead of column by column.

ALTER TABLE event_rows
    MODIFY SETTING map_buckets_strategy = 'sqrt', vertical_merge_algorithm_min_bytes_to_activate = 536870912;
