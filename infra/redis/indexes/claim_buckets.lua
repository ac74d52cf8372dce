-- Comes before the scripts of claims. A bucket is a hash: field -> coordinate of the holder, then the hour of the claim, by
-- the clock of this server: the clock of one caller must not end the claims of others.
-- Hours are text of this many characters that sorts as their numbers do: until the year 2161.
local HOUR_CHARS = 4
local HOUR_DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'
local HOUR_MS = 3600000
-- Base64url, as the names of buckets are.
local DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
local BASE = #DIGITS
-- A call sweeps a bucket for so many claims, and these beside: more than fall due where a packed bucket holds hundreds.
local CLAIMS_A_SWEEP = 50
local SWEEPS_A_CALL = 4
local FIELDS_A_DELETION = 500

local function bucket_key(prefix, bucket)
  return prefix .. 'b:' .. bucket
end

-- The hour of a time in milliseconds.
local function hour_of(ms)
  local hour, text = math.floor(ms / HOUR_MS), ''
  for _ = 1, HOUR_CHARS do
    local digit = hour % #HOUR_DIGITS
    text = string.sub(HOUR_DIGITS, digit + 1, digit + 1) .. text
    hour = (hour - digit) / #HOUR_DIGITS
  end
  return text
end

local function is_old(value, oldest)
  return string.sub(value, -HOUR_CHARS) < oldest
end

-- Holds the field with the value where nobody holds it, or did so before the oldest hour that counts: false then. Else
-- the coordinate of the holder.
local function holder_beside(key, field, value, oldest)
  if redis.call('HSETNX', key, field, value) == 1 then return false end
  local held = redis.call('HGET', key, field)
  if not is_old(held, oldest) then return string.sub(held, 1, -1 - HOUR_CHARS) end
  redis.call('HSET', key, field, value)
  return false
end

local function bucket_of_turn(turn, begin, chars)
  local name = ''
  for _ = 1, chars do
    local digit = turn % BASE
    name = string.sub(DIGITS, digit + 1, digit + 1) .. name
    turn = (turn - digit) / BASE
  end
  return begin .. name
end

local function drop_old(key, oldest)
  local entries = redis.call('HGETALL', key)
  local old = {}
  for at = 1, #entries, 2 do
    if is_old(entries[at + 1], oldest) then old[#old + 1] = entries[at] end
  end
  for from = 1, #old, FIELDS_A_DELETION do
    redis.call('HDEL', key, unpack(old, from, math.min(from + FIELDS_A_DELETION - 1, #old)))
  end
end

-- Drops old claims from buckets whose turn has come. Turns are numbered through all rounds. What a call may not sweep is
-- left to the next; of whole rounds that were missed one is made up for; a number from a shorter turn begins anew.
local function sweep(prefix, oldest, round)
  local due, buckets = round.due, BASE ^ round.chars
  local swept = tonumber(redis.call('GET', prefix .. 'swept'))
  if swept and swept >= due and swept <= due + buckets then return end
  if not swept or swept > due then swept = due end
  local missed = math.floor((due - swept) / buckets)
  if missed > 1 then swept = swept + (missed - 1) * buckets end
  local last = math.min(due, swept + SWEEPS_A_CALL + math.floor(round.claims / CLAIMS_A_SWEEP))
  for turn = swept + 1, last do
    drop_old(bucket_key(prefix, bucket_of_turn(turn % buckets, round.begin, round.chars)), oldest)
  end
  redis.call('SET', prefix .. 'swept', string.format('%.0f', last))
end
