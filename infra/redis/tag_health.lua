-- Adds what an edge has seen of a site's tag. KEYS: facts, hours, pages, definitions of the site, and the last number of the
-- edge. ARGV: JSON of the notes, their number, milliseconds to keep all, pages at the most, definitions at the most, hours and
-- days to keep, by this server's clock.

-- What is sent again because no answer came counts once: the numbers of an edge rise. A number is forgotten after a day.
if tonumber(redis.call('GET', KEYS[5]) or '0') >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[5], ARGV[2], 'PX', 86400000)

local notes = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local seconds = tonumber(time[1])
local oldest_hour = math.floor(seconds / 3600) - tonumber(ARGV[6])
local oldest_day = math.floor(seconds / 86400) - tonumber(ARGV[7])
local function whole(number) return string.format('%.0f', number) end

-- Fields of a hash that begin with a number are dropped once that is too old; looked for only when one is added.
local function dropOlder(key, oldest)
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local number = tonumber(string.match(field, '^%d+'))
    if number and number < oldest then redis.call('HDEL', key, field) end
  end
end
local function addAll(key, counts, oldest)
  local grew = false
  for _, pair in ipairs(counts) do
    if redis.call('HINCRBY', key, pair[1], whole(pair[2])) == pair[2] then grew = true end
  end
  if grew then dropOlder(key, oldest) end
end

-- Edges may pass their notes on in any order.
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or '0')
if notes.lastMs > last then redis.call('HSET', KEYS[1], 'last', whole(notes.lastMs)) end
addAll(KEYS[2], notes.hours, oldest_hour)
addAll(KEYS[1], notes.reported, oldest_day)

for _, pair in ipairs(notes.pages) do redis.call('ZADD', KEYS[3], 'GT', whole(pair[2]), pair[1]) end
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1 - tonumber(ARGV[4]))

local function longestSilent()
  local found, oldest
  local all = redis.call('HGETALL', KEYS[4])
  for at = 1, #all, 2 do
    local lastMs = cjson.decode(all[at + 1])[2]
    if not oldest or lastMs < oldest then found, oldest = all[at], lastMs end
  end
  return found
end

-- The mean gap is exact for the first gaps and follows the newest ones after that, with a weight of one in fifty.
local GAPS = 50
for _, fired in ipairs(notes.fired) do
  local id, count, firstMs, lastMs = fired[1], fired[2], fired[3], fired[4]
  local text = redis.call('HGET', KEYS[4], id)
  local known = text and cjson.decode(text) or { 0, firstMs, 0 }
  if not text and redis.call('HLEN', KEYS[4]) >= tonumber(ARGV[5]) then redis.call('HDEL', KEYS[4], longestSilent()) end
  local before = math.max(known[1] - 1, 0)
  local gaps = known[1] + count - 1 - before
  local gap = known[3]
  if gaps > 0 then
    local mean = math.max(lastMs - known[2], 0) / gaps
    local weight = before + gaps <= GAPS and gaps / (before + gaps) or 1 - (1 - 1 / GAPS) ^ gaps
    gap = gap + weight * (mean - gap)
  end
  redis.call('HSET', KEYS[4], id,
    string.format('[%.0f,%.0f,%.0f]', known[1] + count, math.max(known[2], lastMs), gap))
end

for at = 1, 4 do redis.call('PEXPIRE', KEYS[at], ARGV[3]) end
return 1
