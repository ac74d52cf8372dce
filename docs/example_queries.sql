-- Twenty questions in SQL. After npm run demo they can be asked as the analyst of shop (npm run svc -- analyst show); 20 has no rows there.

-- 1. How many events of each name were there?
SELECT event, uniqExact(event_id, event, toDate(timestamp)) AS events FROM events
WHERE site_id = 'shop' AND timestamp >= now() - INTERVAL 30 DAY AND timestamp < now()
GROUP BY event ORDER BY events DESC;

-- 2. How many people came each day?
SELECT toDate(timestamp) AS day, uniqExact(person_id) AS people FROM events
WHERE site_id = 'shop' AND timestamp >= now() - INTERVAL 30 DAY AND timestamp < now()
GROUP BY day ORDER BY day;

-- 3. How many events an hour?
SELECT hour, sum(events) AS events FROM event_hours
WHERE site_id = 'shop' AND hour >= now() - INTERVAL 7 DAY AND hour < now()
GROUP BY hour ORDER BY hour;

-- 4. What was earned each day?
SELECT toDate(timestamp) AS day, currency, sum(value) AS earned
FROM (SELECT * FROM events WHERE site_id = 'shop' AND event = 'purchase' LIMIT 1 BY event_id, toDate(timestamp))
GROUP BY day, currency ORDER BY day;

-- 5. What is earned at the till, and what on the web?
SELECT action_source, uniqExact(event_id, event, toDate(timestamp)) AS sales, round(avg(value), 2) AS average FROM events
WHERE site_id = 'shop' AND event = 'purchase' GROUP BY action_source;

-- 6. Which countries do people come from?
SELECT geo_country, uniqExact(person_id) AS people FROM events
WHERE site_id = 'shop' GROUP BY geo_country ORDER BY people DESC LIMIT 10;

-- 7. Which values does a property have?
SELECT JSONExtractString(property_texts['utm_source']) AS source, uniqExact(event_id, event, toDate(timestamp)) AS events FROM events
WHERE site_id = 'shop' GROUP BY source ORDER BY events DESC LIMIT 10;

-- 8. How far do people get, from page view to purchase, within 30 days? (`svc query funnel` says the same, and counts in order of arrival what happened in one millisecond.)
SELECT level, count() AS people FROM (
  SELECT person_id, windowFunnel(2592000000)(toUInt64(toUnixTimestamp64Milli(timestamp)), event = 'page_view', event = 'add_to_cart', event = 'purchase') AS level
  FROM events WHERE site_id = 'shop' AND timestamp >= now() - INTERVAL 30 DAY AND timestamp < now() GROUP BY person_id)
GROUP BY level ORDER BY level;

-- 9. Who saw an item on the web and bought at the till?
SELECT person_id FROM events WHERE site_id = 'shop' GROUP BY person_id
HAVING minIf(timestamp, event = 'view_item' AND action_source = 'website') < maxIf(timestamp, event = 'purchase' AND action_source = 'physical_store')
  AND countIf(event = 'view_item' AND action_source = 'website') > 0
ORDER BY person_id LIMIT 100;

-- 10. Which campaign did buyers first come by?
SELECT campaign, count() AS buyers FROM (
  SELECT argMinIf(JSONExtractString(property_texts['utm_campaign']), timestamp, property_texts['utm_campaign'] NOT IN ('', '""')) AS campaign
  FROM events WHERE site_id = 'shop' GROUP BY person_id HAVING countIf(event = 'purchase') > 0)
GROUP BY campaign ORDER BY buyers DESC;

-- 11. How many sessions a day, how long, with how many events?
SELECT toDate(started_at) AS day, count() AS sessions, round(avg(dateDiff('second', started_at, ended_at))) AS seconds, round(avg(events), 1) AS events
FROM sessions_between(begin = now() - INTERVAL 30 DAY, end = now()) WHERE site_id = 'shop' GROUP BY day ORDER BY day;

-- 12. What do sessions begin with?
SELECT first_event, count() AS sessions FROM sessions_between(begin = now() - INTERVAL 30 DAY, end = now())
WHERE site_id = 'shop' GROUP BY first_event ORDER BY sessions DESC;

-- 13. What part of sessions ends after one event?
SELECT countIf(events = 1) / count() AS bounced FROM sessions_between(begin = now() - INTERVAL 30 DAY, end = now()) WHERE site_id = 'shop';

-- 14. Of those who came first in a week, how many came back in the weeks after?
SELECT cohort, dateDiff('week', cohort, toStartOfWeek(timestamp, 1)) AS week, uniqExact(person_id) AS people
FROM events INNER JOIN (SELECT person_id, toStartOfWeek(min(timestamp), 1) AS cohort FROM events WHERE site_id = 'shop' GROUP BY person_id) AS firsts USING person_id
WHERE site_id = 'shop' GROUP BY cohort, week ORDER BY cohort, week;

-- 15. Who are the best customers, by currency?
SELECT person_id, currency, uniqExact(event_id, event, toDate(timestamp)) AS orders, sum(value) AS spent
FROM (SELECT * FROM events WHERE site_id = 'shop' AND event = 'purchase' LIMIT 1 BY event_id, toDate(timestamp))
GROUP BY person_id, currency ORDER BY spent DESC LIMIT 10 BY currency;

-- 16. Which people have several distinct ids?
SELECT person_id, groupUniqArray(distinct_id) AS ids FROM events
WHERE site_id = 'shop' GROUP BY person_id HAVING length(ids) > 1 ORDER BY length(ids) DESC, person_id LIMIT 10;

-- 17. How late do events arrive?
SELECT quantilesExact(0.5, 0.99)(dateDiff('second', timestamp, received_at)) AS seconds FROM events WHERE site_id = 'shop';

-- 18. What became of the events at each destination?
SELECT destination, outcome, reason, uniqExact(event_id) AS events FROM delivery_outcomes
WHERE site_id = 'shop' GROUP BY destination, outcome, reason ORDER BY events DESC;

-- 19. How much of the month does the site use? (What its account uses of its allowance: `npm run svc -- account list`.)
SELECT toStartOfMonth(received_at) AS month, uniqExact(event_id, event, toDate(timestamp)) AS used FROM events
WHERE site_id = 'shop' GROUP BY month ORDER BY month DESC;

-- 20. Which elements of which page were found last?
SELECT page, type, text, event_hint FROM inventory
WHERE site_id = 'shop' AND (page, received_at) IN (SELECT page, max(received_at) FROM inventory WHERE site_id = 'shop' GROUP BY page)
ORDER BY page, position;
