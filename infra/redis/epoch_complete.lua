-- KEYS[1]: prefix of an index's keys. ARGV: token of the one that rebuilt it, run id of the server it began on, time it
-- was begun (milliseconds), the index's layout. Begins the epoch, ends the attempt that led to it and answers 1; 0 where
-- the server or the right to rebuild was lost meanwhile.
local prefix = KEYS[1]
if redis.call('GET', prefix .. 'rebuilder') ~= ARGV[1] or run_id() ~= ARGV[2] then return 0 end
redis.call('SET', prefix .. 'used', ARGV[3])
redis.call('SET', prefix .. 'epoch', epoch_of(ARGV[2], ARGV[4]))
redis.call('DEL', prefix .. 'rebuilder', prefix .. 'attempt', prefix .. 'passed')
return 1
