-- Counts of hours are made by the query that asks for them: to fill a table with each insert took a tenth of what inserts and merges
-- cost.

DROP TABLE IF EXISTS event_hours_filled;

DROP TABLE IF EXISTS event_hours;

CREATE VIEW event_hours
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    hour DateTime('UTC') COMMENT 'Hour in which the events happened',
    event LowCardinality(String) COMMENT 'Name of the events',
    action_source LowCardinality(String) COMMENT 'Where they happened',
    country LowCardinality(String) COMMENT 'Country; empty where none',
    events UInt64 COMMENT 'Number of events',
    value Float64 COMMENT 'Sum of their values'
)
AS SELECT
    site_id,
    toStartOfHour(toDateTime(timestamp, 'UTC')) AS hour,
    event,
    action_source,
    country,
    count() AS events,
    sum(ifNull(event_rows.value, 0)) AS value
FROM event_rows
GROUP BY site_id, hour, event, action_source, country
COMMENT 'Events of each name in each hour';
