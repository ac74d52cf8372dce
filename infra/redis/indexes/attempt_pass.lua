-- KEYS[1]: prefix of an index's keys. ARGV: id of the attempt at rebuilding it, partition, offset. Notes how far the
-- attempt has come; answers 0 where it is another's turn, since what this one restored may be gone.
local prefix = KEYS[1]
local attempt = redis.call('GET', prefix .. 'attempt')
if not attempt or string.match(attempt, '^%S+') ~= ARGV[1] then return 0 end
redis.call('HSET', prefix .. 'passed', ARGV[2], ARGV[3])
return 1
