ALTER TABLE event_rows
    COMMENT COLUMN site_id 'The site it belongs to',
    COMMENT COLUMN event_id 'Chosen by the sender or made for it; one event, however often it was sent',
    COMMENT COLUMN distinct_id 'The visitor as the sender names it: a browser, a till, a user',
    COMMENT COLUMN arrived_person_id 'The person as known when the event arrived; later merges are in person_links',
    COMMENT COLUMN event 'Name of the event',
    COMMENT COLUMN timestamp 'When it happened',
    COMMENT COLUMN received_at 'When it arrived at the edge',
    COMMENT COLUMN original_timestamp 'As sent, where timestamp was replaced by arrival',
    COMMENT COLUMN mode 'Mode of the site when it arrived: online or offline',
    COMMENT COLUMN action_source 'Where it happened: website, physical_store, phone_call, chat, email or system_generated',
    COMMENT COLUMN caller 'Kind of key it came with: browser or server',
    COMMENT COLUMN identify 'Whether its identifiers may link people',
    COMMENT COLUMN email_sha256 'SHA-256 of the trimmed, lower-case e-mail; empty where none',
    COMMENT COLUMN phone_sha256 'SHA-256 of the E.164 number with its plus; empty where none',
    COMMENT COLUMN first_name_sha256 'SHA-256 of the normalised first name; empty where none',
    COMMENT COLUMN last_name_sha256 'SHA-256 of the normalised last name; empty where none',
    COMMENT COLUMN external_id_sha256 'SHA-256 of the id in the sender''s own system; empty where none',
    COMMENT COLUMN city 'City as sent; empty where none',
    COMMENT COLUMN state 'State or region as sent; empty where none',
    COMMENT COLUMN zip 'Postal code as sent; empty where none',
    COMMENT COLUMN country 'Country, two letters; empty where none',
    COMMENT COLUMN client_ip 'Address of the visitor; empty where none or in offline mode',
    COMMENT COLUMN client_user_agent 'User agent of the visitor; empty where none or in offline mode',
    COMMENT COLUMN value 'Amount in the currency; NULL where none',
    COMMENT COLUMN currency 'ISO 4217 code; empty where none',
    COMMENT COLUMN order_id 'Order the event is about; empty where none',
    COMMENT COLUMN properties 'The remaining properties as a JSON object',
    COMMENT COLUMN raw_partition 'Partition of its record in events.raw',
    COMMENT COLUMN raw_offset 'Offset of its record in events.raw',
    COMMENT COLUMN raw_index 'Its place in that record, which is its place in the request';

ALTER TABLE person_links
    COMMENT COLUMN site_id 'The site it belongs to',
    COMMENT COLUMN person_id 'A person that is part of another',
    COMMENT COLUMN target 'The person it is part of now',
    COMMENT COLUMN first_seen 'When the person that stays was first seen',
    COMMENT COLUMN version 'Grows with every change of this person; the newest counts';

ALTER TABLE quota_usage
    COMMENT COLUMN account_id 'The account',
    COMMENT COLUMN month 'Month by arrival in UTC, as 2026-10',
    COMMENT COLUMN partition 'Partition of quota.counts that this part of the sum is of',
    COMMENT COLUMN used 'Events of the month that were settled by then',
    COMMENT COLUMN settled_offset 'Offset behind what is settled; the newest row of a partition counts',
    COMMENT COLUMN settled_at 'When it was settled';

ALTER TABLE delivery_outcomes
    COMMENT COLUMN site_id 'The site it belongs to',
    COMMENT COLUMN destination 'Name of the destination',
    COMMENT COLUMN event_id 'The event that was delivered or not',
    COMMENT COLUMN event 'Name of the event',
    COMMENT COLUMN coordinate_partition 'Partition of its record in events.raw',
    COMMENT COLUMN coordinate_offset 'Offset of its record in events.raw',
    COMMENT COLUMN coordinate_index 'Its place in that record, which is its place in the request',
    COMMENT COLUMN outcome 'What became of it: delivered, skipped, diverted, paused or dead',
    COMMENT COLUMN reason 'Why, by a stable code; empty where delivered',
    COMMENT COLUMN attempt 'Which attempt this was, from 1',
    COMMENT COLUMN received_at 'When the event arrived at the edge',
    COMMENT COLUMN attempted_at 'When this attempt was made',
    COMMENT COLUMN took_ms 'How long the destination took to answer, in milliseconds';

ALTER TABLE inventory
    COMMENT COLUMN site_id 'The site it belongs to',
    COMMENT COLUMN page 'Path of the page',
    COMMENT COLUMN received_at 'When it arrived at the edge',
    COMMENT COLUMN inventory_id 'The submission; its elements share it',
    COMMENT COLUMN position 'Place of the element in the submission',
    COMMENT COLUMN url 'Address of the page',
    COMMENT COLUMN title 'Title of the page',
    COMMENT COLUMN content_hash 'Digest of the page''s elements',
    COMMENT COLUMN type 'Kind of element',
    COMMENT COLUMN selector 'CSS selector of the element',
    COMMENT COLUMN text 'What the element says',
    COMMENT COLUMN href 'Where it leads; empty where nowhere',
    COMMENT COLUMN event_hint 'The event that the page suggests for it; empty where none';

ALTER TABLE event_rows
    ADD INDEX IF NOT EXISTS by_arrival received_at TYPE minmax GRANULARITY 4,
    ADD INDEX IF NOT EXISTS by_person arrived_person_id TYPE bloom_filter(0.01) GRANULARITY 4,
    ADD INDEX IF NOT EXISTS by_visitor distinct_id TYPE bloom_filter(0.01) GRANULARITY 4;

CREATE OR REPLACE VIEW events
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    event_id String COMMENT 'Chosen by the sender or made for it; one event, however often it was sent',
    distinct_id String COMMENT 'The visitor as the sender names it: a browser, a till, a user',
    person_id String COMMENT 'The person as known now, later merges included',
    arrived_person_id String COMMENT 'The person as known when the event arrived; later merges are in person_links',
    event LowCardinality(String) COMMENT 'Name of the event',
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened',
    received_at DateTime64(3, 'UTC') COMMENT 'When it arrived at the edge',
    original_timestamp Nullable(String) COMMENT 'As sent, where timestamp was replaced by arrival',
    mode LowCardinality(String) COMMENT 'Mode of the site when it arrived: online or offline',
    action_source LowCardinality(String) COMMENT 'Where it happened: website, physical_store, phone_call, chat, email or system_generated',
    caller LowCardinality(String) COMMENT 'Kind of key it came with: browser or server',
    identify Bool COMMENT 'Whether its identifiers may link people',
    email_sha256 String COMMENT 'SHA-256 of the trimmed, lower-case e-mail; empty where none',
    phone_sha256 String COMMENT 'SHA-256 of the E.164 number with its plus; empty where none',
    first_name_sha256 String COMMENT 'SHA-256 of the normalised first name; empty where none',
    last_name_sha256 String COMMENT 'SHA-256 of the normalised last name; empty where none',
    external_id_sha256 String COMMENT 'SHA-256 of the id in the sender''s own system; empty where none',
    city String COMMENT 'City as sent; empty where none',
    state String COMMENT 'State or region as sent; empty where none',
    zip String COMMENT 'Postal code as sent; empty where none',
    country LowCardinality(String) COMMENT 'Country, two letters; empty where none',
    client_ip String COMMENT 'Address of the visitor; empty where none or in offline mode',
    client_user_agent String COMMENT 'User agent of the visitor; empty where none or in offline mode',
    value Nullable(Float64) COMMENT 'Amount in the currency; NULL where none',
    currency LowCardinality(String) COMMENT 'ISO 4217 code; empty where none',
    order_id String COMMENT 'Order the event is about; empty where none',
    properties String COMMENT 'The remaining properties as a JSON object',
    raw_partition Int32 COMMENT 'Partition of its record in events.raw',
    raw_offset Int64 COMMENT 'Offset of its record in events.raw',
    raw_index Int32 COMMENT 'Its place in that record, which is its place in the request'
)
AS SELECT
    site_id,
    event_id,
    distinct_id,
    dictGetOrDefault('{database_name}.person_overrides', 'target', (site_id, arrived_person_id), arrived_person_id) AS person_id,
    arrived_person_id,
    event,
    timestamp,
    received_at,
    original_timestamp,
    mode,
    action_source,
    caller,
    identify,
    email_sha256,
    phone_sha256,
    first_name_sha256,
    last_name_sha256,
    external_id_sha256,
    city,
    state,
    zip,
    country,
    client_ip,
    client_user_agent,
    value,
    currency,
    order_id,
    properties,
    raw_partition,
    raw_offset,
    raw_index
FROM event_rows
COMMENT 'Events with the person they belong to now; a row for each event but for moments after a repeated insert';

CREATE VIEW sessions
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    person_id String COMMENT 'The person as known now',
    started_at DateTime64(3, 'UTC') COMMENT 'When its first event happened',
    ended_at DateTime64(3, 'UTC') COMMENT 'When its last event happened',
    events UInt64 COMMENT 'Number of its events, each counted once',
    first_event String COMMENT 'Name of its first event',
    last_event String COMMENT 'Name of its last event',
    names Array(String) COMMENT 'Names of its events in order',
    landing_url String COMMENT 'Property url of its first event; empty where none',
    value Float64 COMMENT 'Sum of the values of its events'
)
AS SELECT
    site_id,
    person_id,
    session[1].1 AS started_at,
    session[-1].1 AS ended_at,
    length(session) AS events,
    session[1].5 AS first_event,
    session[-1].5 AS last_event,
    arrayMap(x -> toString(x.5), session) AS names,
    JSONExtractString(session[1].7, 'url') AS landing_url,
    arraySum(x -> x.6, session) AS value
FROM
(
    SELECT
        site_id,
        person_id,
        arraySort(groupUniqArray((timestamp, received_at, raw_index, event_id, event, ifNull(value, 0), properties))) AS whole,
        arrayMap(x -> toUnixTimestamp64Milli(x.1), whole) AS times,
        arraySplit((x, pause, i) -> i > 1 AND pause > 1800000, whole, arrayDifference(times), arrayEnumerate(times)) AS parts
    FROM events
    GROUP BY site_id, person_id
)
ARRAY JOIN parts AS session
COMMENT 'Events of a person without a pause of more than 30 minutes between them';

CREATE TABLE event_hours
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    hour DateTime('UTC') COMMENT 'Hour in which the events happened',
    event LowCardinality(String) COMMENT 'Name of the events',
    action_source LowCardinality(String) COMMENT 'Where they happened',
    country LowCardinality(String) COMMENT 'Country; empty where none',
    events UInt64 COMMENT 'Number of events; sum it, as rows are added up in time only',
    value Float64 COMMENT 'Sum of their values'
)
ENGINE = SummingMergeTree((events, value))
PARTITION BY toYYYYMM(hour)
ORDER BY (site_id, hour, event, action_source, country)
SETTINGS non_replicated_deduplication_window = 10000;

INSERT INTO event_hours
SETTINGS insert_deduplicate = 1, insert_deduplication_token = '0003_analysis'
SELECT site_id, toStartOfHour(toDateTime(timestamp, 'UTC')) AS hour, event, action_source, country, count(), sum(ifNull(value, 0))
FROM event_rows FINAL
GROUP BY site_id, hour, event, action_source, country;

CREATE MATERIALIZED VIEW event_hours_filled TO event_hours AS
SELECT site_id, toStartOfHour(toDateTime(timestamp, 'UTC')) AS hour, event, action_source, country, count() AS events, sum(ifNull(value, 0)) AS value
FROM event_rows
GROUP BY site_id, hour, event, action_source, country;
