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
    session[1].1 AS started_at,
    session[-1].1 AS ended_at,
    length(session) AS events,
    session[1].5 AS first_event,
    session[-1].5 AS last_event,
    arrayMap(x -> toString(x.5), session) AS names,
    arrayFirst(x -> x.8 != '', session).8 AS landing_url,
    countEqual(arrayMap(x -> x.5 IN ('purchase', 'Order Completed', 'subscribe', 'Subscribed', 'donate'), session), 1) AS conversions,
    if(length(value_by_currency) > 1, NULL, arraySum(mapValues(value_by_currency))) AS value,
    if(length(value_by_currency) = 1, mapKeys(value_by_currency)[1], '') AS currency,
    arrayFold((sums, x) -> mapAdd(sums, map(toString(x.7), x.6)), arrayFilter(x -> x.6 != 0, session), map()::Map(String, Float64)) AS value_by_currency
FROM
(
    SELECT
        site_id,
        person_id,
        arraySort(groupUniqArray((timestamp, received_at, raw_index, event_id, event, earned, currency, url))) AS whole,
        arrayMap(x -> toUnixTimestamp64Milli(x.1), whole) AS times,
        arraySplit((x, pause, i) -> i > 1 AND pause > 1800000, whole, arrayDifference(times), arrayEnumerate(times)) AS parts
    FROM
    (
        SELECT
            *,
            if(event IN ('purchase', 'Order Completed', 'subscribe', 'Subscribed', 'donate'), ifNull(value, 0), 0) AS earned,
            JSONExtract(properties, 'Tuple(event_source_url String, `$current_url` String, page_location String, page_url String, url String, `$url` String, location String, page Tuple(url String), context Tuple(page Tuple(url String)))') AS urls,
            arrayFirst(x -> match(x, '(?i)^https?://'), [urls.1, urls.2, urls.3, urls.4, urls.5, urls.6, urls.7, urls.8.1, urls.9.1.1]) AS url
        FROM events
    )
    GROUP BY site_id, person_id
)
ARRAY JOIN parts AS session
COMMENT 'Events of a person without a pause of more than 30 minutes between them';
