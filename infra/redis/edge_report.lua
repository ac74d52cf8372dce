-- Comes before the scripts of what edges report of a site. KEYS: of the site, and at last the last number of the edge. ARGV:
-- JSON of the notes, their number, milliseconds to keep all, then what the script itself takes. Whole hours and days are by this
-- server's clock, which no edge may run ahead of for the others.

-- What is sent again because no answer came counts once: the numbers of an edge rise. A number is forgotten after a day.
if tonumber(redis.call('GET', KEYS[#KEYS]) or '0') >= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[#KEYS], ARGV[2], 'PX', 86400000)

local notes = cjson.decode(ARGV[1])
local time = redis.call('TIME')
local seconds = tonumber(time[1])
local function whole(number) return string.format('%.0f', number) end

-- Adds counts to fields that begin with a number; those are dropped once it is too old, looked for only when one is added.
local function add_all(key, counts, oldest)
  local grew = false
  for _, pair in ipairs(counts) do
    if redis.call('HINCRBY', key, pair[1], whole(pair[2])) == pair[2] then grew = true end
  end
  if not grew then return end
  for _, field in ipairs(redis.call('HKEYS', key)) do
    local number = tonumber(string.match(field, '^%d+'))
    if number and number < oldest then redis.call('HDEL', key, field) end
  end
end

local function keep_all()
  for at = 1, #KEYS - 1 do redis.call('PEXPIRE', KEYS[at], ARGV[3]) end
  return 1
end
