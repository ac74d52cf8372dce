-- Merges without statistics: since 26.4 ClickHouse keeps some of each column by itself, and as this table drops copies, each merge hashes
-- all values again for them: a tenth of what a merge costs. What they tell a query, its key, partitions and indexes tell it here.

ALTER TABLE event_rows
    MODIFY SETTING auto_statistics_types = '', materialize_statistics_on_merge = 0;
