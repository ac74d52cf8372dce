-- KEYS: the masters of the cluster that were noted last, the generations by partition. ARGV: run ids and lives of those that are masters
-- now. Notes them. Where one that was noted is no master any more, or in another life, the last writes of the months that it had may
-- be lost: no counters are of a generation then, and each partition's are put back.
local now = {}
for at = 1, #ARGV, 2 do now[ARGV[at]] = ARGV[at + 1] end
local noted = redis.call('HGETALL', KEYS[1])
local is_same = #noted == #ARGV
for at = 1, #noted, 2 do
  if now[noted[at]] ~= noted[at + 1] then
    is_same = false
    redis.call('DEL', KEYS[2])
    break
  end
end
if is_same then return 1 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1
