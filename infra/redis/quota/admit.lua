-- Both rate limits and the reservation of any number of requests, one after the other.
-- KEYS: what the requests count in, any number; empty where a request has no such part. In a cluster they share a slot.
-- ARGV: milliseconds of the window, checkpoints that must be there (0: not looked at), key of the checkpoints, seconds a month lives,
-- then for each request: index into KEYS of its address, of its key and of its account's month (0: none), most requests of
-- the address and of the key, how many requests it counts as, limit of the month, events wanted, and the lease. Of one that
-- counts as several, as many count as the limits have room for.
-- Answers for each request: 0 passed, 1 address limited, 2 key limited; milliseconds until it would pass; limit, what
-- remains of it and milliseconds until more does, of the limit that is nearer (-1: none); events granted (-1: not known),
-- and what the month then has, held included.
local SLICES = 10
local HEAD, EACH = 4, 9
local window_ms = tonumber(ARGV[1])
local slice_ms = window_ms / SLICES
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local slice_now = math.floor(now / slice_ms)
local checkpoints_wanted = tonumber(ARGV[2])
local is_restored = checkpoints_wanted == 0 or redis.call('HLEN', ARGV[3]) >= checkpoints_wanted
local windows, months, answers = {}, {}, {}

local function by_slice(a, b) return a[1] < b[1] end

-- The slice that runs and the ten before it: no span of a window's length ever holds more than the limit.
local function window_of(index)
  local found = windows[index]
  if found then return found end
  found = { total = 0, slices = {}, taken = 0, is_longer = false }
  local flat = redis.call('HGETALL', KEYS[index])
  for at = 1, #flat, 2 do
    local slice, count = tonumber(flat[at]), tonumber(flat[at + 1])
    -- One of a clock that was set back since would count until that time comes.
    if slice < slice_now - SLICES or slice > slice_now + 1 then
      redis.call('HDEL', KEYS[index], flat[at])
    else
      found.slices[#found.slices + 1] = { slice, count }
      found.total = found.total + count
    end
  end
  if #found.slices > 1 then table.sort(found.slices, by_slice) end
  windows[index] = found
  return found
end

local function leaves_ms(slice) return math.max(1, math.ceil((slice + SLICES + 1) * slice_ms - now)) end

-- When enough slices have left the window for one more request.
local function wait_ms(found, most)
  local total = found.total
  for _, slice in ipairs(found.slices) do
    total = total - slice[2]
    if total < most then return leaves_ms(slice[1]) end
  end
  return leaves_ms(slice_now)
end

local function more_ms(found)
  local first = found.slices[1]
  return leaves_ms(first and first[1] or slice_now)
end

local function take(found, count)
  found.total = found.total + count
  found.taken = found.taken + count
  local last = found.slices[#found.slices]
  if last and last[1] == slice_now then
    last[2] = last[2] + count
  else
    found.slices[#found.slices + 1] = { slice_now, count }
    found.is_longer = true
  end
end

local function month_of(index)
  local found = months[index]
  if found then return found end
  local fields = redis.call('HMGET', KEYS[index], 'used', 'held')
  found = { used = tonumber(fields[1] or '0'), held = tonumber(fields[2] or '0'), taken = 0, leases = {} }
  months[index] = found
  return found
end

local function reserve(index, limit, wanted, lease)
  if index == 0 or not is_restored or lease == '' then return -1, 0 end
  local month = month_of(index)
  local granted = math.max(0, math.min(wanted, limit - month.used - month.held))
  if granted > 0 then
    month.held = month.held + granted
    month.taken = month.taken + granted
    month.leases[lease] = (month.leases[lease] or 0) + granted
  end
  return granted, month.used + month.held
end

local answered = 0
local function answer(code, wait, limit, remaining, reset, granted, known)
  answers[answered + 1], answers[answered + 2], answers[answered + 3] = code, wait, limit
  answers[answered + 4], answers[answered + 5], answers[answered + 6] = remaining, reset, granted
  answers[answered + 7] = known
  answered = answered + 7
end

local function judge(at)
  local address, key = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  local address_most, key_most = tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
  local by_address = address > 0 and window_of(address)
  local by_key = key > 0 and window_of(key)
  if by_address and by_address.total >= address_most then
    local wait = wait_ms(by_address, address_most)
    return answer(1, wait, address_most, 0, wait, 0, 0)
  end
  if by_key and by_key.total >= key_most then
    local wait = wait_ms(by_key, key_most)
    return answer(2, wait, key_most, 0, wait, 0, 0)
  end
  local room_address = by_address and address_most - by_address.total or math.huge
  local room_key = by_key and key_most - by_key.total or math.huge
  local count = math.min(tonumber(ARGV[at + 5]), room_address, room_key)
  if by_address then take(by_address, count) end
  if by_key then take(by_key, count) end
  local granted, known = reserve(tonumber(ARGV[at + 2]), tonumber(ARGV[at + 6]), tonumber(ARGV[at + 7]), ARGV[at + 8])
  if not by_address and not by_key then return answer(0, 0, -1, 0, 0, granted, known) end
  if room_address <= room_key then
    answer(0, 0, address_most, room_address - count, more_ms(by_address), granted, known)
  else
    answer(0, 0, key_most, room_key - count, more_ms(by_key), granted, known)
  end
end

for at = HEAD + 1, #ARGV, EACH do judge(at) end

local slice_name = string.format('%.0f', slice_now)
for index, found in pairs(windows) do
  if found.taken > 0 then
    redis.call('HINCRBY', KEYS[index], slice_name, found.taken)
    -- By the first of a slice, which counts for a window and a slice at most.
    if found.is_longer then redis.call('PEXPIRE', KEYS[index], math.ceil(window_ms + 2 * slice_ms)) end
  end
end
for index, found in pairs(months) do
  if found.taken > 0 then
    redis.call('HINCRBY', KEYS[index], 'held', found.taken)
    for lease, taken in pairs(found.leases) do redis.call('HINCRBY', KEYS[index], 'h:' .. lease, taken) end
    redis.call('EXPIRE', KEYS[index], ARGV[4])
  end
end
return answers
