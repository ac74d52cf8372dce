-- Writes event ids into buckets as dedup does, without their calls: keys, fields and values are as long. KEYS[1]: what the keys of
-- buckets begin with. ARGV: number of the first id, how many, characters of a bucket.
local DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
local chars = tonumber(ARGV[3])
for number = tonumber(ARGV[1]), tonumber(ARGV[1]) + tonumber(ARGV[2]) - 1 do
  local digest = redis.sha1hex(number)
  local place, bucket = tonumber(string.sub(digest, 13, 20), 16), ''
  for _ = 1, chars do
    local digit = place % 64 + 1
    bucket = bucket .. string.sub(DIGITS, digit, digit)
    place = math.floor(place / 64)
  end
  local position = string.format('%d:%x:%d', number % 12, number, number % 3)
  redis.call('HSET', KEYS[1] .. bucket, string.sub(digest, 1, 12), position .. 'b4xy')
end
