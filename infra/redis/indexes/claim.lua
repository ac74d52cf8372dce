-- KEYS[1]: prefix of the shard's keys (its hash tag inside). ARGV: the index's layout, milliseconds that a claim counts, and from one
-- turn of sweeping to the next, what the names of the shard's buckets begin with, how many characters follow, how many
-- claims there are, then a line for each: bucket, field, coordinate. In one text, as arguments of their own cost Redis a
-- tenth more for each claim.
-- Answers for each claim: false when it is new and now held, else the coordinate that holds it. 'lost' where claims that
-- were made may be missing: nothing is claimed then.
local prefix = KEYS[1]
if not is_whole(prefix, ARGV[1]) then return 'lost' end
local now = now_ms()
local hour, oldest = hour_of(now), hour_of(now - tonumber(ARGV[2]))
-- A full Redis lets nothing be written, until a script has deleted something: then it lets that script write on. So this is asked first,
-- and nothing is claimed beyond what fits; old claims are dropped all the same, by which it gets out of that by itself.
local has_room, refusal = pcall(mark_used, prefix, now)
local due = math.floor(now / tonumber(ARGV[3]))
sweep(prefix, oldest, { due = due, begin = ARGV[4], chars = tonumber(ARGV[5]), claims = tonumber(ARGV[6]) })
if not has_room then return type(refusal) == 'table' and refusal or redis.error_reply(refusal) end
local answers = {}
local count = 0

for bucket, field, coordinate in string.gmatch(ARGV[7], '(%S+) (%S+) (%S+)\n') do
  count = count + 1
  answers[count] = holder_beside(bucket_key(prefix, bucket), field, coordinate .. hour, oldest)
end
return answers
