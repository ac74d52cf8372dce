-- KEYS: counters of tries, all counted together or none. ARGV: for each key how many may be in its window, then for each
-- key the window in milliseconds. Answers 0 where the try may be made, which it has counted, else for how many milliseconds
-- no more may be.
local wait = 0
for at = 1, #KEYS do
  local count = tonumber(redis.call('GET', KEYS[at]) or '0')
  if count >= tonumber(ARGV[at]) then
    wait = math.max(wait, redis.call('PTTL', KEYS[at]), 1)
  end
end
if wait > 0 then return wait end
for at = 1, #KEYS do
  if redis.call('INCR', KEYS[at]) == 1 then redis.call('PEXPIRE', KEYS[at], ARGV[#KEYS + at]) end
end
return 0
