-- KEYS: the checkpoints and the generations by partition. ARGV: partition of events.raw, next offset, generation.
-- Writes the checkpoint of the partition; answers 0 and writes nothing where its counters are of another generation or of none.
local partition = ARGV[1]
if redis.call('HGET', KEYS[2], partition) ~= ARGV[3] then return 0 end
redis.call('HSET', KEYS[1], partition, ARGV[2])
return 1
