-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: now (milliseconds), seconds a period's keys live, the
-- current period, how many other periods are looked at, these, then bucket, field, coordinate for each claim.
-- Answers for each claim: false when it is new and now held, else the coordinate that holds it. 'lost' where claims that
-- were made may be missing: nothing is claimed then.
local prefix = KEYS[1]
if not is_whole(prefix) then return 'lost' end
redis.call('SET', prefix .. 'used', ARGV[1])
local ttl = ARGV[2]
local here = prefix .. ARGV[3] .. ':'
local first_claim = 5 + tonumber(ARGV[4])
local elsewhere = {}
for at = 5, first_claim - 1 do elsewhere[#elsewhere + 1] = prefix .. ARGV[at] .. ':' end
local call = redis.call
local answers = {}

local function holder_elsewhere(bucket, field)
  for _, keys in ipairs(elsewhere) do
    local holder = call('HGET', keys .. bucket, field)
    if holder then return holder end
  end
  return false
end

for at = first_claim, #ARGV, 3 do
  local bucket, field, coordinate = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local holder = holder_elsewhere(bucket, field)
  if not holder then
    local key = here .. bucket
    if call('HSETNX', key, field, coordinate) == 0 then
      holder = call('HGET', key, field)
    elseif call('HLEN', key) == 1 then
      call('EXPIRE', key, ttl)
    end
  end
  answers[#answers + 1] = holder
end
return answers
