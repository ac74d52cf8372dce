CREATE OR REPLACE VIEW sessions
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

CREATE OR REPLACE VIEW sessions_between
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
