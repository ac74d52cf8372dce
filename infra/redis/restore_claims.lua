-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: the oldest hour whose claims count, then bucket, field,
-- coordinate and hour of each claim that was made in that hour and may be lost. What is there and counts stays.
for at = 2, #ARGV, 4 do
  holder_beside(bucket_key(KEYS[1], ARGV[at]), ARGV[at + 1], ARGV[at + 2] .. ARGV[at + 3], ARGV[1])
end
return (#ARGV - 1) / 4
