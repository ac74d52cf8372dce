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

INSERT INTO merged_persons (key, actor, person, leads, version, changed_at)
SELECT cityHash64(site_id, cityHash64(person_id)), cityHash64(target), toFixedString(unhex(substring(target, 3)), 16), person_id = target, version, now64(3) - toIntervalDay(1)
FROM person_links FINAL
WHERE match(target, '^p_[0-9a-f]{32}$');

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

ALTER TABLE event_rows
    ADD COLUMN IF NOT EXISTS person_key UInt64 ALIAS cityHash64(site_id, person_hash) COMMENT 'Key of arrived_person_id in the dictionaries of merged persons',
    ADD COLUMN IF NOT EXISTS recent_actor UInt64 ALIAS dictGet('{database_name}.merged_persons_recent', 'actor', person_key) COMMENT 'Digest of the person as known now, where that changed of late; else 0',
    ADD COLUMN IF NOT EXISTS recent_person UInt128 ALIAS dictGet('{database_name}.merged_persons_recent', 'person', cityHash64(site_id, cityHash64(arrived_person_id))) COMMENT 'The person as known now, where that changed of late; else 0',
    ADD COLUMN IF NOT EXISTS merged_person UInt128 ALIAS if(recent_person != 0, recent_person, dictGet('{database_name}.merged_persons_base', 'person', if(recent_person != 0, 0, cityHash64(site_id, cityHash64(arrived_person_id))))) COMMENT 'The person that the one that arrived became part of; 0 where none';

ALTER TABLE event_rows
    MODIFY COLUMN person_id String ALIAS if(merged_person = 0, arrived_person_id, concat('p_', lower(hex(reinterpretAsFixedString(merged_person))))),
    MODIFY COLUMN actor UInt64 ALIAS if(recent_actor != 0, recent_actor, dictGetOrDefault('{database_name}.merged_persons_base', 'actor', if(recent_actor != 0, 0, person_key), person_hash));

CREATE OR REPLACE VIEW actor_events AS
SELECT actor, person_id, event_hash, *
FROM event_rows
COMMENT 'Events with digests of their persons, merges resolved, and of their ids: for the query API';

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
    property_texts,
    raw_partition,
    raw_offset,
    raw_index
FROM event_rows
COMMENT 'Events with the person they belong to now; a row for each event but for moments after a repeated insert';

CREATE OR REPLACE DICTIONARY person_overrides
(
    site_id String,
    person_id String,
    target String
)
PRIMARY KEY site_id, person_id
SOURCE(CLICKHOUSE(
    USER {user}
    PASSWORD {password}
    DB {database}
    QUERY 'SELECT site_id, person_id, argMax(target, version) AS target FROM {database_name}.person_links GROUP BY site_id, person_id HAVING target != person_id'
))
LIFETIME(0)
LAYOUT(COMPLEX_KEY_HASHED());

CREATE OR REPLACE DICTIONARY person_hashes
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
LIFETIME(0)
LAYOUT(HASHED());
