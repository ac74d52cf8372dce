-- Adds what an edge has seen of a site's tag. KEYS: facts, hours, pages, definitions. ARGV from the fourth on: pages at the
-- most, definitions at the most, hours and days to keep.

-- Edges may pass their notes on in any order.
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or '0')
if notes.lastMs > last then redis.call('HSET', KEYS[1], 'last', whole(notes.lastMs)) end
add_all(KEYS[2], notes.hours, math.floor(seconds / 3600) - tonumber(ARGV[6]))
add_all(KEYS[1], notes.reported, math.floor(seconds / 86400) - tonumber(ARGV[7]))

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

return keep_all()
