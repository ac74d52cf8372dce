-- Comes before every script of an index. An index is whole while its epoch, at the key PREFIX..epoch, names the
-- server process that runs the script. A server that was emptied has none; one that was restarted or took over has
-- that of another process, and may lack the last writes. The epoch also names the layout of the index, as what was
-- written under another layout is not found. A server that was a replica for a while and is a master again is the same
-- process, and has what its master had: so its life is noted beside the epoch.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

-- Milliseconds since 1970, by this server's clock: all callers share it.
local function now_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- What was written before the last use is there after a loss of the last writes.
local function mark_used(prefix, at)
  redis.call('SET', prefix .. 'used', string.format('%.0f', at))
end

local function epoch_of(server, layout)
  if layout == nil or layout == '' then return server end
  return server .. ' ' .. layout
end

-- What this process received when it was a replica last (master_replid2). Zeros where it never was one, or has had no
-- replicas for long since: that says nothing.
local function life()
  return string.match(redis.call('INFO', 'replication'), 'master_replid2:(%x+)') or '0'
end

-- Of an index that an earlier version made none is noted.
local function is_same_life(noted)
  local now = life()
  return not noted or noted == now or not string.match(now, '[^0]')
end

local function note_life(prefix)
  redis.call('SET', prefix .. 'life', life())
end

local function is_whole(prefix, layout)
  if redis.call('GET', prefix .. 'epoch') ~= epoch_of(run_id(), layout) then return false end
  local noted = redis.call('GET', prefix .. 'life')
  if not is_same_life(noted) then return false end
  if not noted then note_life(prefix) end
  return true
end
