-- KEYS[1]: prefix of an index's keys. ARGV: token of the process that rebuilds it, the layout that it will have. Ends an
-- incarnation of another layout: a process that uses that layout must not go on during the rebuild. Answers 0 if the rebuild
-- lock was lost.
local prefix = KEYS[1]
if redis.call('GET', prefix .. 'rebuilder') ~= ARGV[1] then return 0 end
local incarnation = redis.call('GET', prefix .. 'epoch')
if incarnation and (string.match(incarnation, ' (.*)$') or '') ~= ARGV[2] then redis.call('DEL', prefix .. 'epoch') end
return 1
