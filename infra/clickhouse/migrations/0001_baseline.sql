-- The tables of the warehouse. A statement ends with a semicolon at the end of a line; a line that begins with two dashes is
-- not sent. {user}, {password}, {database} and {database_name} are filled in by migrate.ts, and cluster.ts turns each
-- statement into those for a cluster. Later changes are files of their own: one that was applied is never edited.
--
-- non_replicated_deduplication_window is how many insert tokens a table remembers: a block that is inserted again under its
-- token within that many inserts is dropped. 0 where inserts have no token.

-- Persons and their merges (docs/decisions/0035)

CREATE TABLE person_links
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    person_id String COMMENT 'A person that is part of another',
    target String COMMENT 'The person it is part of now',
    first_seen DateTime64(3, 'UTC') COMMENT 'When the person that stays was first seen',
    version UInt64 COMMENT 'Grows with every change of this person; the newest counts',
    INDEX by_target target TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = ReplacingMergeTree(version)
ORDER BY (site_id, person_id)
SETTINGS non_replicated_deduplication_window = 10000;

-- By day of the change, so that those which every row knows are dropped as whole partitions.
CREATE TABLE merged_persons
(
    key UInt64 COMMENT 'Digest of the site and of the digest of a person that is part of another',
    actor UInt64 COMMENT 'Digest of the person it is part of now' CODEC(NONE),
    person FixedString(16) COMMENT 'The id of that person: what stands in hex behind its p_' CODEC(NONE),
    leads Bool COMMENT 'Whether it is that person itself',
    version UInt64 COMMENT 'Grows with every change of this person; the newest counts',
    changed_at DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC') COMMENT 'When the change came here' CODEC(T64, LZ4)
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toDate(changed_at)
ORDER BY key
SETTINGS non_replicated_deduplication_window = 10000;

CREATE MATERIALIZED VIEW merged_persons_filled TO merged_persons AS
SELECT
    cityHash64(site_id, cityHash64(person_id)) AS key,
    cityHash64(target) AS actor,
    toFixedString(unhex(substring(target, 3)), 16) AS person,
    person_id = target AS leads,
    version
FROM person_links
WHERE match(target, '^p_[0-9a-f]{32}$');

-- Whose rows are corrected every night for as long as some may come that were resolved before (docs/decisions/0043).
CREATE TABLE person_splits
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    moved Array(String) COMMENT 'Persons, as derived from distinct ids, that were taken out of another',
    stayed Array(String) COMMENT 'Those who stayed',
    person_id String COMMENT 'Whom the moved are part of since',
    former_person_id String COMMENT 'Whom they were part of, and those who stayed are',
    version UInt64 COMMENT 'That of the links which say so',
    split_at DateTime64(3, 'UTC') COMMENT 'When'
)
ENGINE = MergeTree
ORDER BY (site_id, split_at)
TTL toDateTime(split_at) + toIntervalDay(60)
SETTINGS non_replicated_deduplication_window = 10000;

-- Most merges, by digests. It has no lifetime: the warehouse loads it again at night, and when the other one has grown. The row
-- with key 0 is its mark: up to when it certainly has all changes, five minutes back for inserts that are under way.
CREATE DICTIONARY merged_persons_base
(
    key UInt64,
    actor UInt64,
    person UInt128,
    version UInt64
)
PRIMARY KEY key
SOURCE(CLICKHOUSE(
    USER {user}
    PASSWORD {password}
    DB {database}
    QUERY 'SELECT key, actor, reinterpretAsUInt128(person) AS person, version FROM {database_name}.merged_persons FINAL WHERE NOT leads
UNION ALL
SELECT toUInt64(0), toUInt64(greatest(0, toUnixTimestamp64Milli(least(max(changed_at), now64(3) - toIntervalMinute(5))))), toUInt128(0), toUInt64(0) FROM {database_name}.merged_persons'
))
LIFETIME(0)
LAYOUT(HASHED_ARRAY())
SETTINGS(dictionary_use_async_executor = 1);

-- The changes since the mark of the base that is loaded; ones who lead are among them, so that they count as members no more.
CREATE DICTIONARY merged_persons_recent
(
    key UInt64,
    actor UInt64,
    person UInt128
)
PRIMARY KEY key
SOURCE(CLICKHOUSE(
    USER {user}
    PASSWORD {password}
    DB {database}
    QUERY 'SELECT key, argMax(changes.actor, changes.version) AS actor, reinterpretAsUInt128(argMax(changes.person, changes.version)) AS person
FROM {database_name}.merged_persons AS changes
WHERE changed_at > (SELECT fromUnixTimestamp64Milli(toInt64(dictGet(''{database_name}.merged_persons_base'', ''actor'', number)), ''UTC'') FROM numbers(1))
GROUP BY key
HAVING max(changes.version) >= dictGet(''{database_name}.merged_persons_base'', ''version'', key)'
))
LIFETIME(MIN 1 MAX 2)
LAYOUT(HASHED_ARRAY())
SETTINGS(dictionary_use_async_executor = 1);

-- Events

-- Times and coordinates are T64 and LZ4, which are smaller than Delta and ZSTD and read twice as fast (docs/decisions/0016).
-- A person is asked of the recent merges first and then, by a key made of that answer, of the base: in the other order a merge
-- that moves between the two could be missed. Projections hold the places of a person's rows (docs/decisions/0037) and are made
-- anew by merges. Parts are compact up to what an insert makes, and twelve are merged at once (docs/decisions/0021);
-- property_texts is in buckets by name (docs/decisions/0029).
CREATE TABLE event_rows
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    event_id String COMMENT 'Chosen by the sender or made for it; one event, however often it was sent' CODEC(ZSTD(1)),
    distinct_id String COMMENT 'The visitor as the sender names it: a browser, a till, a user' CODEC(ZSTD(1)),
    arrived_person_id String COMMENT 'The person as known when the event arrived; later merges are in person_links' CODEC(ZSTD(1)),
    event LowCardinality(String) COMMENT 'Name of the event',
    timestamp DateTime64(3, 'UTC') COMMENT 'When it happened' CODEC(T64, LZ4),
    received_at DateTime64(3, 'UTC') COMMENT 'When it arrived at the edge' CODEC(T64, LZ4),
    original_timestamp Nullable(String) COMMENT 'As sent, where timestamp was replaced by arrival',
    mode LowCardinality(String) COMMENT 'Mode of the site when it arrived: online or offline',
    action_source LowCardinality(String) COMMENT 'Where it happened: website, physical_store, phone_call, chat, email or system_generated',
    caller LowCardinality(String) COMMENT 'Kind of key it came with: browser or server',
    identify Bool COMMENT 'Whether its identifiers may link people',
    email_sha256 String COMMENT 'SHA-256 of the trimmed, lower-case e-mail; empty where none' CODEC(ZSTD(1)),
    phone_hmac String COMMENT 'Keyed hash of the phone number, of this site alone; empty where none' CODEC(ZSTD(1)),
    first_name_sha256 String COMMENT 'SHA-256 of the normalised first name; empty where none' CODEC(ZSTD(1)),
    last_name_sha256 String COMMENT 'SHA-256 of the normalised last name; empty where none' CODEC(ZSTD(1)),
    external_id_sha256 String COMMENT 'SHA-256 of the id in the sender''s own system; empty where none' CODEC(ZSTD(1)),
    city String COMMENT 'City as sent; empty where none' CODEC(ZSTD(1)),
    state String COMMENT 'State or region as sent; empty where none' CODEC(ZSTD(1)),
    zip String COMMENT 'Postal code as sent; empty where none' CODEC(ZSTD(1)),
    country LowCardinality(String) COMMENT 'Country, two letters; empty where none',
    client_ip String COMMENT 'Address of the visitor; empty where none or in offline mode' CODEC(ZSTD(1)),
    client_user_agent String COMMENT 'User agent of the visitor; empty where none or in offline mode' CODEC(ZSTD(1)),
    value Nullable(Float64) COMMENT 'Amount in the currency; NULL where none',
    currency LowCardinality(String) COMMENT 'ISO 4217 code; empty where none',
    order_id String COMMENT 'Order the event is about; empty where none' CODEC(ZSTD(1)),
    properties String COMMENT 'The remaining properties as a JSON object' CODEC(ZSTD(3)),
    raw_partition Int32 COMMENT 'Partition of its record in events.raw' CODEC(T64, LZ4),
    raw_offset Int64 COMMENT 'Offset of its record in events.raw' CODEC(T64, LZ4),
    raw_index Int32 COMMENT 'Its place in that record, which is its place in the request' CODEC(T64, LZ4),
    person_hash UInt64 MATERIALIZED cityHash64(arrived_person_id) COMMENT 'Digest of arrived_person_id, for queries that only tell people apart',
    event_hash UInt64 MATERIALIZED cityHash64(event_id) COMMENT 'Digest of event_id, for queries that only tell events apart',
    person_id String ALIAS if(merged_person = 0, arrived_person_id, concat('p_', lower(hex(reinterpretAsFixedString(merged_person))))) COMMENT 'The person as known now',
    actor UInt64 ALIAS if(recent_actor != 0, recent_actor, dictGetOrDefault('{database_name}.merged_persons_base', 'actor', if(recent_actor != 0, 0, person_key), person_hash)) COMMENT 'Digest of person_id, for the query API',
    property_texts Map(LowCardinality(String), String) MATERIALIZED CAST(JSONExtractKeysAndValuesRaw(properties), 'Map(LowCardinality(String), String)') COMMENT 'The JSON of each property by its name, so stored that one is read without the others' CODEC(ZSTD(1)),
    key_id LowCardinality(String) DEFAULT '' COMMENT 'The key it was accepted with: the first 16 characters of its SHA-256; empty where that was not kept',
    person_key UInt64 ALIAS cityHash64(site_id, person_hash) COMMENT 'Key of arrived_person_id in the dictionaries of merged persons',
    recent_actor UInt64 ALIAS dictGet('{database_name}.merged_persons_recent', 'actor', person_key) COMMENT 'Digest of the person as known now, where that changed of late; else 0',
    recent_person UInt128 ALIAS dictGet('{database_name}.merged_persons_recent', 'person', cityHash64(site_id, cityHash64(arrived_person_id))) COMMENT 'The person as known now, where that changed of late; else 0',
    merged_person UInt128 ALIAS if(recent_person != 0, recent_person, dictGet('{database_name}.merged_persons_base', 'person', if(recent_person != 0, 0, cityHash64(site_id, cityHash64(arrived_person_id))))) COMMENT 'The person that the one that arrived became part of; 0 where none',
    INDEX by_arrival received_at TYPE minmax GRANULARITY 4,
    INDEX by_person arrived_person_id TYPE bloom_filter(0.01) GRANULARITY 4,
    INDEX by_visitor distinct_id TYPE bloom_filter(0.01) GRANULARITY 4,
    INDEX by_event_id event_id TYPE bloom_filter(0.001) GRANULARITY 1,
    PROJECTION rows_by_person (SELECT _part_offset ORDER BY site_id, person_hash) WITH SETTINGS (index_granularity = 512),
    PROJECTION persons_by_visitor (SELECT site_id, cityHash64(distinct_id), arrived_person_id GROUP BY site_id, cityHash64(distinct_id), arrived_person_id) WITH SETTINGS (index_granularity = 512)
)
ENGINE = ReplacingMergeTree(received_at)
PARTITION BY toYYYYMM(timestamp)
ORDER BY (site_id, toDate(timestamp), event, cityHash64(distinct_id), event_id)
SETTINGS
    non_replicated_deduplication_window = 10000,
    min_bytes_for_wide_part = 67108864,
    merge_selector_base = 12,
    map_serialization_version = 'with_buckets',
    map_buckets_strategy = 'constant',
    max_buckets_in_map = 32,
    map_buckets_min_avg_size = 0,
    deduplicate_merge_projection_mode = 'rebuild';

CREATE VIEW events
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
    phone_hmac String COMMENT 'Keyed hash of the phone number, of this site alone; empty where none',
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
    property_texts Map(LowCardinality(String), String) COMMENT 'The JSON of each property by its name, so stored that one is read without the others',
    raw_partition Int32 COMMENT 'Partition of its record in events.raw',
    raw_offset Int64 COMMENT 'Offset of its record in events.raw',
    raw_index Int32 COMMENT 'Its place in that record, which is its place in the request'
)
AS SELECT
    site_id,
    event_id,
    distinct_id,
    person_id,
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
    phone_hmac,
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
    property_texts,
    raw_partition,
    raw_offset,
    raw_index
FROM event_rows
COMMENT 'Events with the person they belong to now; a row for each event but for moments after a repeated insert';

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

-- From each block as it is inserted: a token that drops a block from event_rows drops it here too.
CREATE MATERIALIZED VIEW event_hours_filled TO event_hours AS
SELECT site_id, toStartOfHour(toDateTime(timestamp, 'UTC')) AS hour, event, action_source, country, count() AS events, sum(ifNull(value, 0)) AS value
FROM event_rows
GROUP BY site_id, hour, event, action_source, country;

-- What dedup dropped, and events that stand in the table more than once (docs/decisions/0040)

CREATE TABLE duplicates
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    event_id String COMMENT 'The event that was sent again' CODEC(ZSTD(1)),
    received_at DateTime64(3, 'UTC') COMMENT 'When the copy arrived at the edge' CODEC(Delta, ZSTD(1)),
    key_id LowCardinality(String) COMMENT 'The key the copy came with: the first 16 characters of its SHA-256; empty where that was not kept',
    raw_partition Int32 COMMENT 'Partition of the copy''s record in events.raw',
    raw_offset Int64 COMMENT 'Offset of the copy''s record in events.raw',
    raw_index Int32 COMMENT 'Place of the copy in that record',
    first_partition Int32 COMMENT 'Partition of the record in events.raw that holds the event that passed',
    first_offset Int64 COMMENT 'Offset of that record',
    first_index Int32 COMMENT 'Place of the event in that record',
    times UInt32 COMMENT 'How many copies it stands for; sum it'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (site_id, event_id, received_at, raw_partition, raw_offset, raw_index)
TTL toDateTime(received_at) + toIntervalDay(30)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE repeat_checks
(
    place String COMMENT 'Number of the shard, 0 where there is one server, a slash, and the partition of event_rows',
    checked_below Int64 COMMENT 'All rows of parts whose blocks are below this one were looked for elsewhere',
    checked_at DateTime64(3, 'UTC') COMMENT 'When; the newest counts'
)
ENGINE = ReplacingMergeTree(checked_at)
ORDER BY place
SETTINGS non_replicated_deduplication_window = 0;

CREATE TABLE repeated_events
(
    site_id LowCardinality(String) COMMENT 'The site that the event belongs to',
    event_hash UInt64 COMMENT 'Digest of the id of an event that was found to stand there more than once; it may not any more',
    found_at DateTime('UTC') COMMENT 'When it was found'
)
ENGINE = ReplacingMergeTree(found_at)
ORDER BY (site_id, event_hash)
SETTINGS non_replicated_deduplication_window = 0;

-- Sessions

-- An array for each field of the events, sorted by one number of time, arrival, place and id: a query reads the fields it asks
-- for, and two rows of one event, which have the same number, count once.
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
    landing_url String COMMENT 'Address of the first page that one of its events names; empty where none',
    conversions UInt64 COMMENT 'Number of its purchases, subscriptions and donations',
    value Nullable(Float64) COMMENT 'Sum of the values of its conversions; NULL where they are of several currencies',
    currency String COMMENT 'Currency of its value; empty where it has none, or several',
    value_by_currency Map(String, Float64) COMMENT 'Sums of the values of its conversions by currency'
)
AS SELECT
    site_id,
    person_id,
    fromUnixTimestamp64Milli(times[first], 'UTC') AS started_at,
    fromUnixTimestamp64Milli(times[last], 'UTC') AS ended_at,
    toUInt64(last - first + 1) AS events,
    events_in_order[first] AS first_event,
    events_in_order[last] AS last_event,
    arrayMap(x -> toString(x), arraySlice(events_in_order, first, last - first + 1)) AS names,
    arrayFirst(x -> x != '', arraySlice(urls_in_order, first, last - first + 1)) AS landing_url,
    toUInt64(arrayCount(x -> x IN ('purchase', 'Order Completed', 'subscribe', 'Subscribed', 'donate'), arraySlice(events_in_order, first, last - first + 1))) AS conversions,
    if(length(value_by_currency) > 1, NULL, arraySum(mapValues(value_by_currency))) AS value,
    if(length(value_by_currency) = 1, mapKeys(value_by_currency)[1], '') AS currency,
    arrayFold((sums, x) -> mapAdd(sums, map(toString(x.2), x.1)), arrayFilter(x -> x.1 != 0, arraySlice(amounts_in_order, first, last - first + 1)), map()::Map(String, Float64)) AS value_by_currency
FROM
(
    SELECT
        site_id,
        person_id,
        times,
        events_in_order,
        urls_in_order,
        amounts_in_order,
        arrayFilter((i, pause) -> i = 1 OR pause > 1800000, arrayEnumerate(times), arrayDifference(times)) AS firsts,
        arrayPushBack(arrayMap(i -> toUInt32(i - 1), arrayPopFront(firsts)), toUInt32(length(times))) AS lasts
    FROM
    (
        SELECT
            site_id,
            person_id,
            arrayMap(key -> toInt64(bitShiftRight(key, 86)), arrayCompact(arraySort(keys))) AS times,
            arrayMap(x -> x.2, arrayCompact(x -> x.1, arraySort(x -> x.1, arrayZip(keys, names)))) AS events_in_order,
            arrayMap(x -> x.2, arrayCompact(x -> x.1, arraySort(x -> x.1, arrayZip(keys, urls)))) AS urls_in_order,
            arrayMap(x -> x.2, arrayCompact(x -> x.1, arraySort(x -> x.1, arrayZip(keys, amounts)))) AS amounts_in_order
        FROM
        (
            SELECT
                site_id,
                person_id,
                groupArray(key) AS keys,
                groupArray(event) AS names,
                groupArray(url) AS urls,
                groupArray((earned, currency)) AS amounts
            FROM
            (
                SELECT
                    site_id,
                    person_id,
                    event,
                    currency,
                    bitShiftLeft(toUInt128(toUInt64(toUnixTimestamp64Milli(timestamp))), 86) + bitShiftLeft(toUInt128(toUInt64(toUnixTimestamp64Milli(received_at))), 44) + bitShiftLeft(toUInt128(toUInt16(raw_index)), 28) + bitShiftRight(cityHash64(event_id), 36) AS key,
                    if(event IN ('purchase', 'Order Completed', 'subscribe', 'Subscribed', 'donate'), ifNull(value, 0), 0) AS earned,
                    JSONExtract(properties, 'Tuple(event_source_url String, `$current_url` String, page_location String, page_url String, url String, `$url` String, location String, page Tuple(url String), context Tuple(page Tuple(url String)))') AS found,
                    arrayFirst(x -> match(x, '(?i)^https?://'), [found.1, found.2, found.3, found.4, found.5, found.6, found.7, found.8.1, found.9.1.1]) AS url
                FROM events
            )
            GROUP BY site_id, person_id
        )
    )
)
ARRAY JOIN firsts AS first, lasts AS last
COMMENT 'Events of a person without a pause of more than 30 minutes between them';

-- The same of a time, without reading all events of the site: keep the two alike.
CREATE VIEW sessions_between
AS SELECT
    site_id,
    person_id,
    fromUnixTimestamp64Milli(times[first], 'UTC') AS started_at,
    fromUnixTimestamp64Milli(times[last], 'UTC') AS ended_at,
    toUInt64(last - first + 1) AS events,
    events_in_order[first] AS first_event,
    events_in_order[last] AS last_event,
    arrayMap(x -> toString(x), arraySlice(events_in_order, first, last - first + 1)) AS names,
    arrayFirst(x -> x != '', arraySlice(urls_in_order, first, last - first + 1)) AS landing_url,
    toUInt64(arrayCount(x -> x IN ('purchase', 'Order Completed', 'subscribe', 'Subscribed', 'donate'), arraySlice(events_in_order, first, last - first + 1))) AS conversions,
    if(length(value_by_currency) > 1, NULL, arraySum(mapValues(value_by_currency))) AS value,
    if(length(value_by_currency) = 1, mapKeys(value_by_currency)[1], '') AS currency,
    arrayFold((sums, x) -> mapAdd(sums, map(toString(x.2), x.1)), arrayFilter(x -> x.1 != 0, arraySlice(amounts_in_order, first, last - first + 1)), map()::Map(String, Float64)) AS value_by_currency
FROM
(
    SELECT
        site_id,
        person_id,
        times,
        events_in_order,
        urls_in_order,
        amounts_in_order,
        arrayFilter((i, pause) -> i = 1 OR pause > 1800000, arrayEnumerate(times), arrayDifference(times)) AS firsts,
        arrayPushBack(arrayMap(i -> toUInt32(i - 1), arrayPopFront(firsts)), toUInt32(length(times))) AS lasts
    FROM
    (
        SELECT
            site_id,
            person_id,
            arrayMap(key -> toInt64(bitShiftRight(key, 86)), arrayCompact(arraySort(keys))) AS times,
            arrayMap(x -> x.2, arrayCompact(x -> x.1, arraySort(x -> x.1, arrayZip(keys, names)))) AS events_in_order,
            arrayMap(x -> x.2, arrayCompact(x -> x.1, arraySort(x -> x.1, arrayZip(keys, urls)))) AS urls_in_order,
            arrayMap(x -> x.2, arrayCompact(x -> x.1, arraySort(x -> x.1, arrayZip(keys, amounts)))) AS amounts_in_order
        FROM
        (
            SELECT
                site_id,
                person_id,
                groupArray(key) AS keys,
                groupArray(event) AS names,
                groupArray(url) AS urls,
                groupArray((earned, currency)) AS amounts
            FROM
            (
                SELECT
                    site_id,
                    person_id,
                    event,
                    currency,
                    bitShiftLeft(toUInt128(toUInt64(toUnixTimestamp64Milli(timestamp))), 86) + bitShiftLeft(toUInt128(toUInt64(toUnixTimestamp64Milli(received_at))), 44) + bitShiftLeft(toUInt128(toUInt16(raw_index)), 28) + bitShiftRight(cityHash64(event_id), 36) AS key,
                    if(event IN ('purchase', 'Order Completed', 'subscribe', 'Subscribed', 'donate'), ifNull(value, 0), 0) AS earned,
                    JSONExtract(properties, 'Tuple(event_source_url String, `$current_url` String, page_location String, page_url String, url String, `$url` String, location String, page Tuple(url String), context Tuple(page Tuple(url String)))') AS found,
                    arrayFirst(x -> match(x, '(?i)^https?://'), [found.1, found.2, found.3, found.4, found.5, found.6, found.7, found.8.1, found.9.1.1]) AS url
                FROM events
                WHERE timestamp >= {begin:DateTime64(3, 'UTC')} - INTERVAL 30 MINUTE AND timestamp < {end:DateTime64(3, 'UTC')} + INTERVAL 1 DAY
            )
            GROUP BY site_id, person_id
        )
    )
)
ARRAY JOIN firsts AS first, lasts AS last
WHERE started_at >= {begin:DateTime64(3, 'UTC')} AND started_at < {end:DateTime64(3, 'UTC')}
COMMENT 'Sessions that began at or after begin and before end, from events of no more than half an hour before begin and a day after end';

-- Delivery, quota and page inventories

CREATE TABLE delivery_outcomes
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    destination LowCardinality(String) COMMENT 'Name of the destination',
    event_id String COMMENT 'The event that was delivered or not' CODEC(ZSTD(1)),
    event LowCardinality(String) COMMENT 'Name of the event',
    coordinate_partition Int32 COMMENT 'Partition of its record in events.raw',
    coordinate_offset Int64 COMMENT 'Offset of its record in events.raw',
    coordinate_index Int32 COMMENT 'Its place in that record, which is its place in the request',
    outcome LowCardinality(String) COMMENT 'What became of it: delivered, skipped, diverted, paused or dead',
    reason LowCardinality(String) COMMENT 'Why, by a stable code; empty where delivered',
    attempt Int32 COMMENT 'Which attempt this was, from 1',
    received_at DateTime64(3, 'UTC') COMMENT 'When the event arrived at the edge',
    attempted_at DateTime64(3, 'UTC') COMMENT 'When this attempt was made',
    took_ms Int32 COMMENT 'How long the destination took to answer, in milliseconds',
    answer_status Int32 DEFAULT 0 COMMENT 'Status of HTTP of the destination''s answer; 0 where there was none, or none was kept',
    answer String DEFAULT '' COMMENT 'The begin of what the destination answered, without personal data and secrets' CODEC(ZSTD(1)),
    INDEX by_event_id event_id TYPE bloom_filter(0.001) GRANULARITY 1
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(attempted_at)
ORDER BY (site_id, destination, attempted_at)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE quota_usage
(
    account_id LowCardinality(String) COMMENT 'The account',
    month String COMMENT 'Month by arrival in UTC, as 2026-10',
    partition Int32 COMMENT 'Partition of quota.counts that this part of the sum is of',
    used Int64 COMMENT 'Events of the month that were settled by then',
    settled_offset Int64 COMMENT 'Offset behind what is settled; the newest row of a partition counts',
    settled_at DateTime64(3, 'UTC') COMMENT 'When it was settled'
)
ENGINE = ReplacingMergeTree(settled_offset)
ORDER BY (account_id, month, partition)
SETTINGS non_replicated_deduplication_window = 10000;

CREATE TABLE inventory
(
    site_id LowCardinality(String) COMMENT 'The site it belongs to',
    page String COMMENT 'Path of the page',
    received_at DateTime64(3, 'UTC') COMMENT 'When it arrived at the edge' CODEC(Delta, ZSTD(1)),
    inventory_id String COMMENT 'The submission; its elements share it',
    position UInt16 COMMENT 'Place of the element in the submission',
    url String COMMENT 'Address of the page' CODEC(ZSTD(1)),
    title String COMMENT 'Title of the page' CODEC(ZSTD(1)),
    content_hash String COMMENT 'Digest of the page''s elements',
    type LowCardinality(String) COMMENT 'Kind of element',
    selector String COMMENT 'CSS selector of the element' CODEC(ZSTD(1)),
    text String COMMENT 'What the element says' CODEC(ZSTD(1)),
    href String COMMENT 'Where it leads; empty where nowhere' CODEC(ZSTD(1)),
    event_hint LowCardinality(String) COMMENT 'The event that the page suggests for it; empty where none'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(received_at)
ORDER BY (site_id, page, received_at, inventory_id, position)
SETTINGS non_replicated_deduplication_window = 10000;
