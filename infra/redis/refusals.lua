-- Adds what an edge did not accept of a site. KEYS: counts and samples of the site, and the last number of the edge. ARGV: JSON
-- of the notes, their number, milliseconds to keep all, hours to keep, samples of one reason at the most, samples at the most.

-- What is sent again because no answer came counts once: the numbers of an edge rise. A number is forgotten after a day.
if tonumber(redis.call('GET', KEYS[3]) or '0') >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[3], ARGV[2], 'PX', 86400000)

local notes = cjson.decode(ARGV[1])
local function whole(number) return string.format('%.0f', number) end

-- Fields begin with their hour, and are dropped once that is too old by this server's clock, which no edge may run ahead of for
-- the others; looked for only when one is added.
local time = redis.call('TIME')
local oldest = math.floor(tonumber(time[1]) / 3600) - tonumber(ARGV[4])
local grew = false
for _, pair in ipairs(notes.counts) do
  if redis.call('HINCRBY', KEYS[1], pair[1], whole(pair[2])) == pair[2] then grew = true end
end
if grew then
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    if tonumber(string.match(field, '^%d+')) < oldest then redis.call('HDEL', KEYS[1], field) end
  end
end

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

for at = 1, 2 do redis.call('PEXPIRE', KEYS[at], ARGV[3]) end
return 1
