-- KEYS[1]: the account's month. Forgets every lease. Answers how many events were held.
local held = tonumber(redis.call('HGET', KEYS[1], 'held') or '0')
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(field, 1, 2) == 'h:' then redis.call('HDEL', KEYS[1], field) end
end
redis.call('HDEL', KEYS[1], 'held')
return held
