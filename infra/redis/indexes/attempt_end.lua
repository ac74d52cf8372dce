-- KEYS[1]: prefix of an index's keys. ARGV: id of the attempt that is to begin. Ends the one before, whoever's it was,
-- together with how far it had come: nobody goes on with it, and its owner notes nothing more.
local prefix = KEYS[1]
redis.call('SET', prefix .. 'attempt', ARGV[1])
redis.call('DEL', prefix .. 'passed')
return 1
