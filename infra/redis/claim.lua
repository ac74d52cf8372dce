-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: now (milliseconds), seconds a period's keys live, the
-- current period, how many other periods are looked at, these, then a line for each claim: bucket, field, coordinate. In
-- one text, as arguments of their own cost Redis a tenth more for each claim.
-- Answers for each claim: false when it is new and now held, else the coordinate that holds it. 'lost' where claims that
-- were made may be missing: nothing is claimed then.
local prefix = KEYS[1]
if not is_whole(prefix) then return 'lost' end
redis.call('SET', prefix .. 'used', ARGV[1])
local ttl = ARGV[2]
local here = prefix .. ARGV[3] .. ':'
local others = tonumber(ARGV[4])
local elsewhere = {}
for at = 1, others do elsewhere[at] = prefix .. ARGV[4 + at] .. ':' end
local call = redis.call
local answers = {}
local count = 0

local function holder_elsewhere(bucket, field)
  for at = 1, others do
    local holder = call('HGET', elsewhere[at] .. bucket, field)
    if holder then return holder end
  end
  return false
end

for bucket, field, coordinate in string.gmatch(ARGV[5 + others], '(%S+) (%S+) (%S+)\n') do
  local holder = holder_elsewhere(bucket, field)
  if not holder then
    local key = here .. bucket
    if call('HSETNX', key, field, coordinate) == 0 then
      holder = call('HGET', key, field)
    elseif call('HLEN', key) == 1 then
      call('EXPIRE', key, ttl)
    end
  end
  count = count + 1
  answers[count] = holder
end
return answers
