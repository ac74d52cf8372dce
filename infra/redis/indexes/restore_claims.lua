-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: milliseconds that a claim counts, then a line for each claim
-- that was made and may be lost: bucket, field, coordinate, when it was made (milliseconds). What is there and counts stays.
local now = now_ms()
local oldest = hour_of(now - tonumber(ARGV[1]))
for bucket, field, coordinate, made in string.gmatch(ARGV[2], '(%S+) (%S+) (%S+) (%S+)\n') do
  holder_beside(bucket_key(KEYS[1], bucket), field, coordinate .. hour_of(math.min(now, tonumber(made))), oldest)
end
return 1
