-- KEYS[1]: memory of one base person. ARGV[1]: now, in milliseconds. ARGV[2]: seconds until it is forgotten. Then, for each
-- thing to note, its name, whether it was shown (1) or done (0), and what it was shown under: an id that was noted last is
-- not counted again. Fields: t:NAME how often, l:NAME when last, d:NAME when done, i:NAME under which id last.
local key, now = KEYS[1], ARGV[1]
for at = 3, #ARGV, 3 do
  local name, shown, id = ARGV[at], ARGV[at + 1] == '1', ARGV[at + 2]
  if shown then
    if id == '' or redis.call('HGET', key, 'i:' .. name) ~= id then
      redis.call('HINCRBY', key, 't:' .. name, 1)
      redis.call('HSET', key, 'l:' .. name, now)
      if id ~= '' then redis.call('HSET', key, 'i:' .. name, id) end
    end
  else
    redis.call('HSET', key, 'd:' .. name, now)
  end
end
redis.call('EXPIRE', key, ARGV[2])
return 1
