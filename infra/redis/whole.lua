-- Comes before every script of an index. An index is whole while its epoch names the server process that runs the
-- script: a server that was emptied has no epoch, one that was restarted or took over has another's, and may lack the
-- last that was written.
local function run_id()
  return string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
end

local function is_whole(prefix)
  return redis.call('GET', prefix .. 'epoch') == run_id()
end
