-- KEYS[1]: prefix of an index's keys. ARGV: token of the one that is to rebuild it, the layout that it will have. An epoch
-- of another layout ends: whoever works by that one must not go on beside the rebuilding. Answers 0 where the right to
-- rebuild was lost.
local prefix = KEYS[1]
if redis.call('GET', prefix .. 'rebuilder') ~= ARGV[1] then return 0 end
local epoch = redis.call('GET', prefix .. 'epoch')
if epoch and (string.match(epoch, ' (.*)$') or '') ~= ARGV[2] then redis.call('DEL', prefix .. 'epoch') end
return 1
