-- KEYS[1]: prefix of an index's keys. ARGV: token of the process that rebuilt it, run id of the server it began on, time
-- it began by that server (milliseconds), the index's layout. Begins the incarnation, ends the attempt that led to it and answers 1; 0 if
-- the server or the rebuild lock was lost meanwhile.
local prefix = KEYS[1]
if redis.call('GET', prefix .. 'rebuilder') ~= ARGV[1] or run_id() ~= ARGV[2] then return 0 end
mark_used(prefix, tonumber(ARGV[3]))
redis.call('SET', prefix .. 'epoch', incarnation_of(ARGV[2], ARGV[4]))
redis.call('DEL', prefix .. 'rebuilder', prefix .. 'attempt', prefix .. 'passed')
return 1
