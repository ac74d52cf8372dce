-- KEYS: leases (lease -> end, by this server's clock), checkpoints (partition -> settled offset). ARGV: milliseconds a lease lives,
-- then leases to renew; none: answers the leases that have ended. With leases: answers the number of checkpoints.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if #ARGV == 1 then return redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now)) end
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[1])), ARGV[at]) end
return redis.call('HLEN', KEYS[2])
