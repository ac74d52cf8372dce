-- KEYS: use of the token, then submissions of whatever is counted, as the address; all in one slot. ARGV: the
-- submission, then seconds for each of the keys, 0 where it is not to be counted. What was counted under this submission
-- before is not counted again, as a double click is none. Answers whether the token came with another submission, then the
-- counts.
local submission = ARGV[1]
-- More than any limit; a set grows no further.
local COUNTED_MAX = 128
local answers = {}
for at = 1, #KEYS do answers[at] = 0 end
if tonumber(ARGV[2]) > 0 then
  local holder = redis.call('SET', KEYS[1], submission, 'NX', 'GET', 'EX', ARGV[2])
  if holder and holder ~= submission then
    answers[1] = 1
    return answers
  end
end
for at = 2, #KEYS do
  local seconds = tonumber(ARGV[at + 1])
  if seconds > 0 then
    local count = redis.call('SCARD', KEYS[at])
    if count < COUNTED_MAX then
      redis.call('SADD', KEYS[at], submission)
      if count == 0 then redis.call('EXPIRE', KEYS[at], seconds) end
      count = redis.call('SCARD', KEYS[at])
    end
    answers[at] = count
  end
end
return answers
