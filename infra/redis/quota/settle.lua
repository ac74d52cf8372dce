-- KEYS[1]: the account's month. ARGV: partition of events.raw, seconds to live, what is known to be used and settled of the
-- partition, the id of the topic, which may be empty, then for each range in order: next offset, unique events, number of
-- leases, and lease and events of each.
-- Adds the stretches behind what is settled, once; where less is used or settled than is known, that was lost and is put back.
-- What is settled of a topic with another id says nothing of this one's offsets.
-- Answers the partition's used and settled offset, how many events are held no longer, and the id of the topic.
local month = KEYS[1]
local partition = ARGV[1]
local known_used = tonumber(ARGV[3])
local known_settled = tonumber(ARGV[4])
local log = ARGV[5]
local settled_log = redis.call('HGET', month, 'l:' .. partition) or ''
local settled = tonumber(redis.call('HGET', month, 's:' .. partition) or '0')
local add = math.max(0, known_used - tonumber(redis.call('HGET', month, 'u:' .. partition) or '0'))
local released = 0

if log == '' then
  log = settled_log
elseif settled_log ~= '' and settled_log ~= log then
  settled = 0
end
settled = math.max(settled, known_settled)

-- What Redis lost is not held any more: no more is released than there is.
local function release(lease, events)
  local field = 'h:' .. lease
  local held = tonumber(redis.call('HGET', month, field) or '0')
  local take = math.min(held, events)
  if take == held then
    redis.call('HDEL', month, field)
  else
    redis.call('HINCRBY', month, field, -take)
  end
  released = released + take
end

local at = 6
while at <= #ARGV do
  local next_offset = tonumber(ARGV[at])
  local unique = tonumber(ARGV[at + 1])
  local leases = tonumber(ARGV[at + 2])
  at = at + 3
  local fresh = next_offset > settled
  if fresh then
    add = add + unique
    settled = next_offset
  end
  for _ = 1, leases do
    if fresh then release(ARGV[at], tonumber(ARGV[at + 1])) end
    at = at + 2
  end
end

redis.call('HSET', month, 's:' .. partition, string.format('%.0f', settled))
if log ~= '' then redis.call('HSET', month, 'l:' .. partition, log) end
local used = redis.call('HINCRBY', month, 'u:' .. partition, add)
redis.call('HINCRBY', month, 'used', add)
if released > 0 then redis.call('HINCRBY', month, 'held', -released) end
redis.call('EXPIRE', month, ARGV[2])
return { used, settled, released, log }
