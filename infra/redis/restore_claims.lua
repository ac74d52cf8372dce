-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: bucket, field, coordinate, period and seconds its
-- keys live, for each claim that was made in that period and may be lost. What is there stays.
local prefix = KEYS[1]
for at = 1, #ARGV, 5 do
  local key = prefix .. ARGV[at + 3] .. ':' .. ARGV[at]
  if redis.call('HSETNX', key, ARGV[at + 1], ARGV[at + 2]) == 1 and redis.call('HLEN', key) == 1 then
    redis.call('EXPIRE', key, ARGV[at + 4])
  end
end
return #ARGV / 5
