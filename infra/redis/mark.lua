-- KEYS: the marks and the generations by partition. ARGV: partition of events.raw, next offset, generation.
-- Marks the partition; answers 0 and marks nothing where its counters are of another generation or of none.
local partition = ARGV[1]
if redis.call('HGET', KEYS[2], partition) ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], partition, ARGV[2])
return 1
