-- KEYS[1]: the account's month. ARGV: lease, then how many events it holds no longer; -1: none at all.
-- Answers how many that were.
local field = 'h:' .. ARGV[1]
local held = tonumber(redis.call('HGET', KEYS[1], field) or '0')
local take = tonumber(ARGV[2])
if take < 0 or take > held then take = held end
if take == 0 then return 0 end
if take == held then
  redis.call('HDEL', KEYS[1], field)
else
  redis.call('HINCRBY', KEYS[1], field, -take)
end
redis.call('HINCRBY', KEYS[1], 'held', -take)
return take
