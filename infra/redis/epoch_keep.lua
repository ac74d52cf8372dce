-- KEYS[1]: prefix of an index's keys. ARGV: token, milliseconds. Keeps the right to rebuild where it is still ours: a
-- server that was emptied has forgotten it, and what was rebuilt with it.
local key = KEYS[1] .. 'rebuilder'
if redis.call('GET', key) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', key, ARGV[2])
