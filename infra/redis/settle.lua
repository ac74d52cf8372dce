-- KEYS[1]: the account's month. ARGV: partition, seconds to live, then offset and count of each record in order.
-- Adds the records at or behind the partition's settled offset, once. Answers the partition's used and settled offset.
local partition = ARGV[1]
local settled = tonumber(redis.call('HGET', KEYS[1], 's:' .. partition) or '0')
local add = 0
for at = 3, #ARGV, 2 do
  local offset = tonumber(ARGV[at])
  if offset >= settled then
    add = add + tonumber(ARGV[at + 1])
    settled = offset + 1
  end
end
redis.call('HSET', KEYS[1], 's:' .. partition, string.format('%.0f', settled))
local used = redis.call('HINCRBY', KEYS[1], 'u:' .. partition, add)
redis.call('HINCRBY', KEYS[1], 'used', add)
redis.call('EXPIRE', KEYS[1], ARGV[2])
return { used, settled }
