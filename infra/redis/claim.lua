-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: current period, periods in the window,
-- seconds a period's keys live, then bucket, field, coordinate for each claim.
-- Answers for each claim: false when it is new and now held, else the coordinate that holds it.
local prefix = KEYS[1]
local period = tonumber(ARGV[1])
local periods = tonumber(ARGV[2])
local ttl = tonumber(ARGV[3])
local answers = {}
for at = 4, #ARGV, 3 do
  local bucket, field, coordinate = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local holder = false
  for back = 1, periods - 1 do
    holder = redis.call('HGET', prefix .. (period - back) .. ':' .. bucket, field)
    if holder then break end
  end
  if not holder then
    local key = prefix .. period .. ':' .. bucket
    if redis.call('HSETNX', key, field, coordinate) == 0 then
      holder = redis.call('HGET', key, field)
    elseif redis.call('HLEN', key) == 1 then
      redis.call('EXPIRE', key, ttl)
    end
  end
  answers[#answers + 1] = holder
end
return answers
