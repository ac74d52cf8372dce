-- KEYS[1]: memory of one base person. ARGV[1]: now, in milliseconds. ARGV[2]: seconds until it is forgotten. Then, for each
-- thing to note, its name, what it is (shown, done or event), and of what was shown its id, of an event its time. What was
-- noted under one of the last ids is not counted again, as two showings may go on at once. Fields: t:NAME how often, l:NAME
-- when last, d:NAME when done, i:NAME under which ids last, the newest first.
local key, now = KEYS[1], ARGV[1]
local IDS_MAX = 8

local function note_shown(name, id)
  local ids = redis.call('HGET', key, 'i:' .. name) or ''
  if string.find(' ' .. ids .. ' ', ' ' .. id .. ' ', 1, true) then return end
  local last = { id }
  for other in string.gmatch(ids, '%S+') do
    if #last < IDS_MAX then last[#last + 1] = other end
  end
  redis.call('HINCRBY', key, 't:' .. name, 1)
  redis.call('HSET', key, 'l:' .. name, now, 'i:' .. name, table.concat(last, ' '))
end

local function note_event(name, at)
  redis.call('HINCRBY', key, 't:' .. name, 1)
  local last = tonumber(redis.call('HGET', key, 'l:' .. name) or '0')
  if tonumber(at) > last then redis.call('HSET', key, 'l:' .. name, at) end
end

for at = 3, #ARGV, 3 do
  local name, what, detail = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  if what == 'shown' then
    note_shown(name, detail)
  elseif what == 'event' then
    note_event(name, detail)
  else
    redis.call('HSET', key, 'd:' .. name, now)
  end
end
redis.call('EXPIRE', key, ARGV[2])
return 1
