-- KEYS[1]: prefix of the site's keys in the index of persons. KEYS[2]: prefix of the site's memories, in the same slot.
-- ARGV: base persons of visitors. Answers for each who leads it, then the memory of every base person that is one with it,
-- each a flat list of fields and values. A person's own key says who leads it, and the leader's who belongs to it (identity.lua).
local answers = {}
for at, person in ipairs(ARGV) do
  local leader = redis.call('GET', KEYS[1] .. 'p:' .. person) or person
  local memories = { leader, redis.call('HGETALL', KEYS[2] .. person) }
  for _, member in ipairs(redis.call('HKEYS', KEYS[1] .. 'm:' .. leader)) do
    if member ~= person then memories[#memories + 1] = redis.call('HGETALL', KEYS[2] .. member) end
  end
  answers[at] = memories
end
return answers
