-- KEYS: use of the token, then submissions of whatever is counted, as the address; all in one slot. ARGV: the
-- submission, the visitor or nothing, then seconds for each of the keys, 0 where it is not to be counted. What was counted
-- under this submission before is not counted again, as a double click is none. Answers whether the token came with another
-- submission or too many visitors, then the counts.
local submission, visitor = ARGV[1], ARGV[2]
-- Whoever is shown something may say meanwhile who they are.
local VISITORS_MAX = 2
-- More than any limit; a set grows no further.
local COUNTED_MAX = 128
local answers = {}
for at = 1, #KEYS do answers[at] = 0 end

-- The use of a token is the submission that it came with, and the visitors, with blanks between.
local function is_token_used()
  local use = redis.call('GET', KEYS[1])
  if not use then
    redis.call('SET', KEYS[1], visitor == '' and submission or submission .. ' ' .. visitor, 'EX', ARGV[3])
    return false
  end
  local parts = {}
  for part in string.gmatch(use, '%S+') do parts[#parts + 1] = part end
  if parts[1] ~= submission then return true end
  -- That it was shown is remembered for less time than what was sent then.
  if redis.call('TTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('EXPIRE', KEYS[1], ARGV[3]) end
  for at = 2, #parts do
    if parts[at] == visitor then return false end
  end
  if visitor == '' then return false end
  if #parts > VISITORS_MAX then return true end
  redis.call('SET', KEYS[1], use .. ' ' .. visitor, 'KEEPTTL')
  return false
end

if tonumber(ARGV[3]) > 0 and is_token_used() then
  answers[1] = 1
  return answers
end
for at = 2, #KEYS do
  local seconds = tonumber(ARGV[at + 2])
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
