-- KEYS[1]: prefix of the site's keys in the index of persons. ARGV: base persons of visitors. Answers for each who leads it, then whoever
-- else is one with it.
local answers = {}
for at, person in ipairs(ARGV) do
  local leader = redis.call('GET', KEYS[1] .. 'p:' .. person) or person
  local group = { leader }
  for _, member in ipairs(redis.call('HKEYS', KEYS[1] .. 'm:' .. leader)) do
    if member ~= person then group[#group + 1] = member end
  end
  answers[at] = group
end
return answers
