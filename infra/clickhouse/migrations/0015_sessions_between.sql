CREATE OR REPLACE VIEW sessions_between
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
        WHERE timestamp >= {begin:DateTime64(3, 'UTC')} - INTERVAL 30 MINUTE AND timestamp < {end:DateTime64(3, 'UTC')} + INTERVAL 1 DAY
    )
    GROUP BY site_id, person_id
)
ARRAY JOIN parts AS session
WHERE started_at >= {begin:DateTime64(3, 'UTC')} AND started_at < {end:DateTime64(3, 'UTC')}
COMMENT 'Sessions that began at or after begin and before end, from events of no more than half an hour before begin and a day after end';
