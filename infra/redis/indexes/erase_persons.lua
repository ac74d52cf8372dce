-- KEYS[1]: prefix of the keys of the index as a whole. KEYS[2]: prefix of the site's keys in it. KEYS[3], with '1' as ARGV[3]: prefix of what is
-- remembered of the site's visitors, in the same slot. ARGV[1]: JSON list of persons, who are all of whom they are one with. ARGV[2]: JSON list
-- of keyed identifiers. With '0' as ARGV[3] nothing is erased: it answers who holds each identifier, '' where nobody does. With '1' or '2'
-- it erases what is known of these persons; it answers {'grown', others} and erases nothing where they are one with others
-- by now, else {'erased', how many keys}; with ARGV[4], milliseconds since 1970, {'late'} after that. Answers 'lost' where something that was known may be missing. Keys: identity.lua.
if not is_whole(KEYS[1]) then return 'lost' end
local prefix, memory = KEYS[2], ARGV[3] == '1' and KEYS[3]
local persons, nodes = cjson.decode(ARGV[1]), cjson.decode(ARGV[2])
local erased = 0
-- More would not fit Lua's stack.
local MEMBERS_PER_CALL = 1000

local function delete(...)
  erased = erased + redis.call('DEL', ...)
end

if ARGV[3] == '0' then
  local holders = {}
  for at, node in ipairs(nodes) do holders[at] = redis.call('GET', prefix .. 'n:' .. node) or '' end
  return holders
end

if ARGV[4] and now_ms() > tonumber(ARGV[4]) then return { 'late' } end

local is_theirs, leaders, others = {}, {}, {}
for _, person in ipairs(persons) do is_theirs[person] = true end
for _, person in ipairs(persons) do
  local leader = redis.call('GET', prefix .. 'p:' .. person) or person
  if not leaders[leader] then
    leaders[leader] = true
    if not is_theirs[leader] then others[#others + 1] = leader end
    for _, member in ipairs(redis.call('HKEYS', prefix .. 'm:' .. leader)) do
      if not is_theirs[member] and member ~= leader then others[#others + 1] = member end
    end
  end
end
if #others > 0 then return { 'grown', others } end

for _, node in ipairs(nodes) do
  local holder = redis.call('GET', prefix .. 'n:' .. node)
  if holder and is_theirs[holder] then delete(prefix .. 'n:' .. node, prefix .. 'h:' .. node) end
  for from = 1, #persons, MEMBERS_PER_CALL do
    redis.call('SREM', prefix .. 'c:' .. node, unpack(persons, from, math.min(from + MEMBERS_PER_CALL - 1, #persons)))
  end
end
for leader, _ in pairs(leaders) do delete(prefix .. 'm:' .. leader, prefix .. 'i:' .. leader, prefix .. 'x:' .. leader) end
for _, person in ipairs(persons) do
  delete(prefix .. 'p:' .. person, prefix .. 'w:' .. person, prefix .. 's:' .. person)
  if memory then delete(memory .. person) end
end
return { 'erased', erased }
