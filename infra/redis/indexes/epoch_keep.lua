-- KEYS[1]: prefix of an index's keys. ARGV: token, milliseconds. Renews the rebuild lock if it is still ours: a server
-- that was emptied has lost it, and with it what was rebuilt.
local key = KEYS[1] .. 'rebuilder'
if redis.call('GET', key) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', key, ARGV[2])
