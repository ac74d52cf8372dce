-- Comes before every script of an index. An index is whole while its epoch names the server process that runs the
-- script: a server that was emptied has no epoch, one that was restarted or took over has another's, and may lack the
-- last that was written. The layout that it was made by stands in its epoch too: what lies elsewhere is not found.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function epoch_of(server, layout)
  if layout == nil or layout == '' then return server end
  return server .. ' ' .. layout
end

local function is_whole(prefix, layout)
  return redis.call('GET', prefix .. 'epoch') == epoch_of(run_id(), layout)
end
