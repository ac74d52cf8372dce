-- Comes before every script of an index. An index is whole while its incarnation, under the key PREFIX..epoch, names the
-- server process that runs the script. A server that was emptied has no incarnation; one that was restarted or took over has
-- that of another process, and may lack the last writes. The incarnation also names the layout of the index, as what was
-- written under another layout is not found.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function incarnation_of(server, layout)
  if layout == nil or layout == '' then return server end
  return server .. ' ' .. layout
end

local function is_whole(prefix, layout)
  return redis.call('GET', prefix .. 'epoch') == incarnation_of(run_id(), layout)
end
