-- Adds what an edge did not accept of a site. KEYS: counts and samples. ARGV from the fourth on: hours to keep, samples of one
-- reason at the most, samples at the most. Fields of counts begin with their hour.
local oldest = math.floor(seconds / 3600) - tonumber(ARGV[4])
add_all(KEYS[1], notes.counts, oldest)

-- A sample is its reason, a blank and JSON. Those of a rare reason stay while a frequent one has more.
local function trim()
  local all = redis.call('ZRANGE', KEYS[2], 0, -1)
  local byReason, left = {}, #all
  for _, sample in ipairs(all) do
    local reason = string.match(sample, '^%S+')
    byReason[reason] = byReason[reason] or { first = 1 }
    table.insert(byReason[reason], sample)
  end
  local function size(list) return #list - list.first + 1 end
  local function dropOldest(list)
    redis.call('ZREM', KEYS[2], list[list.first])
    list.first = list.first + 1
    left = left - 1
  end
  for _, list in pairs(byReason) do
    while size(list) > tonumber(ARGV[5]) do dropOldest(list) end
  end
  while left > tonumber(ARGV[6]) do
    local longest
    for _, list in pairs(byReason) do
      if not longest or size(list) > size(longest) then longest = list end
    end
    dropOldest(longest)
  end
end
if #notes.samples > 0 then
  for _, sample in ipairs(notes.samples) do redis.call('ZADD', KEYS[2], whole(sample[1]), sample[2]) end
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', '(' .. whole(oldest * 3600000))
  trim()
end

return keep_all()
