-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: the oldest hour whose claims count, then a line for each
-- claim that was made and may be lost: bucket, field, coordinate, hour. What is there and counts stays.
for bucket, field, coordinate, hour in string.gmatch(ARGV[2], '(%S+) (%S+) (%S+) (%S+)\n') do
  holder_beside(bucket_key(KEYS[1], bucket), field, coordinate .. hour, ARGV[1])
end
return 1
