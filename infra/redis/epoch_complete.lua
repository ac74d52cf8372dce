-- KEYS[1]: prefix of an index's keys. ARGV: token of the one that rebuilt it, run id of the server it began on, time it
-- was begun (milliseconds). Begins the epoch and answers 1; 0 where the server or the right to rebuild was lost meanwhile.
local prefix = KEYS[1]
if redis.call('GET', prefix .. 'rebuilder') ~= ARGV[1] or run_id() ~= ARGV[2] then return 0 end
redis.call('SET', prefix .. 'used', ARGV[3])
redis.call('SET', prefix .. 'epoch', ARGV[2])
redis.call('DEL', prefix .. 'rebuilder')
return 1
