-- The life of an index. KEYS[1]: prefix of its keys. ARGV: the action, then what that takes.
local prefix = KEYS[1]
local EPOCH, LOCK, ATTEMPT, PASSED = prefix .. 'epoch', prefix .. 'rebuilder', prefix .. 'attempt', prefix .. 'passed'
-- Of a cluster, those who were masters: their run ids, and what tells one life of theirs from another.
local MASTERS = prefix .. 'masters'
local actions = {}

local function note(...)
  redis.call('DEL', MASTERS)
  if select('#', ...) > 0 then redis.call('HSET', MASTERS, ...) end
end

-- Answers: this server's run id, the index's epoch and the time of the last use (milliseconds), these two empty if
-- there are none, what time it is, the masters that are noted, and 0 where the server was a replica since the epoch began.
function actions.state()
  return { run_id(), redis.call('GET', EPOCH) or '', redis.call('GET', prefix .. 'used') or '',
    string.format('%.0f', now_ms()), redis.call('HGETALL', MASTERS), is_same_life(redis.call('GET', prefix .. 'life')) and 1 or 0 }
end

-- Renews the rebuild lock for milliseconds if it is still of this token: a server that was emptied has lost it, and with it
-- what was rebuilt.
function actions.keep(token, ms)
  if redis.call('GET', LOCK) ~= token then return 0 end
  return redis.call('PEXPIRE', LOCK, ms)
end

-- Ends an epoch of another layout: a process that uses that must not go on during the rebuild. Answers 0 if the lock
-- was lost.
function actions.invalidate(token, layout)
  if redis.call('GET', LOCK) ~= token then return 0 end
  local epoch = redis.call('GET', EPOCH)
  if epoch and (string.match(epoch, ' (.*)$') or '') ~= layout then redis.call('DEL', EPOCH) end
  return 1
end

-- Begins the epoch, ends the attempt that led to it and answers 1; 0 if the server on which the rebuild began, by its
-- run id, or the lock was lost meanwhile. `begun`: when it began by that server (milliseconds). Then the masters to note.
function actions.complete(token, server, begun, layout, ...)
  if redis.call('GET', LOCK) ~= token or run_id() ~= server then return 0 end
  mark_used(prefix, tonumber(begun))
  redis.call('SET', EPOCH, epoch_of(server, layout))
  note_life(prefix)
  note(...)
  redis.call('DEL', LOCK, ATTEMPT, PASSED)
  return 1
end

-- Notes who the masters are, while the index is whole; answers 0 where it is not.
function actions.note(layout, ...)
  if not is_whole(prefix, layout) then return 0 end
  note(...)
  return 1
end

-- Goes on with an index that was moved here whole: takes the epoch of that name for this server, of that run id, over.
function actions.adopt(epoch, server, layout)
  if redis.call('GET', EPOCH) ~= epoch or run_id() ~= server then return 0 end
  redis.call('SET', EPOCH, epoch_of(server, layout))
  note_life(prefix)
  return 1
end

-- Ends the attempt at a rebuild before the one of this id, whoever's it was, together with how far it had come: nobody goes
-- on with it, and its owner notes nothing more.
function actions.end_attempt(id)
  redis.call('SET', ATTEMPT, id)
  redis.call('DEL', PASSED)
  return 1
end

-- Begins the attempt that ended the one before, with the text that says for what it is; answers 0 where another did so
-- since, or the server was emptied.
function actions.begin_attempt(id, text)
  if redis.call('GET', ATTEMPT) ~= id then return 0 end
  redis.call('SET', ATTEMPT, text)
  return 1
end

-- Notes how far the attempt has come; answers 0 where it is another's turn, since what this one restored may be gone.
function actions.pass(id, partition, offset)
  local attempt = redis.call('GET', ATTEMPT)
  if not attempt or string.match(attempt, '^%S+') ~= id then return 0 end
  redis.call('HSET', PASSED, partition, offset)
  return 1
end

return actions[ARGV[1]](unpack(ARGV, 2))
