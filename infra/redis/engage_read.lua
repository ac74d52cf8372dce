-- KEYS[1]: prefix of the site's keys in the index of persons. KEYS[2]: prefix of the site's memories, in the same slot.
-- ARGV[1]: base person of the visitor. Answers the memory of every base person that is one with it, each a flat list of
-- fields and values. A person's own key says who leads it, and the leader's who belongs to it (identity.lua).
local leader = redis.call('GET', KEYS[1] .. 'p:' .. ARGV[1]) or ARGV[1]
local answers = { redis.call('HGETALL', KEYS[2] .. ARGV[1]) }
for _, member in ipairs(redis.call('HKEYS', KEYS[1] .. 'm:' .. leader)) do
  if member ~= ARGV[1] then answers[#answers + 1] = redis.call('HGETALL', KEYS[2] .. member) end
end
return answers
