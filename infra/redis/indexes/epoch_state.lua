-- KEYS[1]: prefix of an index's keys. Answers: this server's run id, the index's incarnation and the time of the last use
-- (milliseconds), these two empty if there are none, and what time it is.
local prefix = KEYS[1]
return { run_id(), redis.call('GET', prefix .. 'epoch') or '', redis.call('GET', prefix .. 'used') or '',
  string.format('%.0f', now_ms()) }
