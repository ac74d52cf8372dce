-- KEYS[1]: prefix of an index's keys. ARGV: id of the attempt, the text that says for what it is. Begins the attempt that
-- ended the one before; answers 0 where another did so since, or the server was emptied.
local key = KEYS[1] .. 'attempt'
if redis.call('GET', key) ~= ARGV[1] then return 0 end
redis.call('SET', key, ARGV[2])
return 1
