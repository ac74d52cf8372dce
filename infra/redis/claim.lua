-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: now (milliseconds), current period, periods in the
-- window, seconds a period's keys live, then bucket, field, coordinate for each claim.
-- Answers for each claim: false when it is new and now held, else the coordinate that holds it. 'lost' where claims that
-- were made may be missing: nothing is claimed then.
local prefix = KEYS[1]
if not is_whole(prefix) then return 'lost' end
redis.call('SET', prefix .. 'used', ARGV[1])
local period = tonumber(ARGV[2])
local periods = tonumber(ARGV[3])
local ttl = tonumber(ARGV[4])
local answers = {}

-- Another process's clock may run a little ahead: what it claimed lies in the period to come.
local function holder_elsewhere(bucket, field)
  for back = -1, periods - 1 do
    local holder = back ~= 0 and redis.call('HGET', prefix .. (period - back) .. ':' .. bucket, field)
    if holder then return holder end
  end
  return false
end

for at = 5, #ARGV, 3 do
  local bucket, field, coordinate = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local holder = holder_elsewhere(bucket, field)
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
