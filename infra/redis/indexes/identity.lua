-- KEYS[1]: prefix of the keys of the index as a whole; then, for each site that is asked about, the prefix of its keys (its
-- hash tag inside). ARGV: the cap on persons that may be one, then '1' to restore what was known, else '0', then for each site
-- a JSON list of questions {b: base person, n: nodes, i: identifiers or null, j: by identifier that links its node, t: first seen, c: coordinate,
-- w: the node by which b is claimed or absent, y: whether that yields to a claim before it, k: whether anybody could have said it,
-- as the key is a browser's, f: whether it is of the past} and of
-- lookups {p: persons}, which say nothing and are answered with a list: false for a person of whom nothing is known; {g: persons} is
-- answered with all who are one with any of them. A lookup of one person and nothing else is the bare id.
-- To restore, the index need not be whole, a question may have o, a person that b was found to be part of, v, the version of
-- that, or d, what was decided of its node ('joined', 'capped', or 'unknown' where nobody wrote it down), with h, whether
-- browsers' keys alone had said it (absent where nobody wrote that down), and nothing is answered. Answers a list for each site, or
-- 'lost' where something that was known may be missing: nothing is learned then.
-- Keys: p:PERSON -> leading person (absent: itself), m:LEADER -> hash person -> first seen, n:NODE -> a person,
-- h:NODE -> there where browsers' keys alone have said whose it is, w:PERSON -> the node by which it was claimed first,
-- c:NODE -> set of persons that were refused there, as far as they were restored, and of those that were split from who has it,
-- s:PERSON -> version of the last split of the person, i:LEADER -> hash of identifiers and, as '#',
-- of how many nodes browsers' keys have said first that they are this person's, and '!', where a server's key said something of them,
-- x:LEADER -> coordinate of the last change, v -> version.
-- A third mode, '2', splits: the one site has one item {m: groups, each a list of persons, c: cuts, each a person and a node, h: of each such
-- node one who has it now}, and is answered with the version and, flat, each person, whom it is part of and its first seen; false
-- where those groups are not all of who they are now.
-- To restore a split a question has s, its version, and o.
local HEAD = 2
local JSON_LIST = string.byte('[')
local cap = tonumber(ARGV[1])
local restoring = ARGV[2] == '1'
local splitting = ARGV[2] == '2'
-- Of the site whose questions are being answered.
local prefix
if not restoring then
  if not is_whole(KEYS[1]) then return 'lost' end
  mark_used(KEYS[1], now_ms())
end
-- First seen of a person of whom that is not known yet; every real time is smaller.
local UNSEEN = 9007199254740991

-- Before nodes that are those of a user's distinct id.
local USER_NODE = 'u:'

-- Most e-mail addresses, phone numbers and customer numbers that browsers' keys may say of one person.
local PUBLIC_NODES_MAX = 5

-- What is known of a person: each value with its variants, which come from one event together. Those that link come first.
local VALUES = {
  { 'email', 'email_google', 'email_stripped' },
  { 'phone', 'phone_digits' },
  { 'external_id' },
  { 'first_name', 'first_name_google' },
  { 'last_name', 'last_name_google' },
}

local function is_of_user(node)
  return string.sub(node, 1, #USER_NODE) == USER_NODE
end

local function public_nodes(leader)
  return tonumber(redis.call('HGET', prefix .. 'i:' .. leader, '#') or '0')
end

local function is_known_to_servers(leader)
  return redis.call('HGET', prefix .. 'i:' .. leader, '!') ~= false
end

local function note_known_to_servers(leader)
  redis.call('HSET', prefix .. 'i:' .. leader, '!', 1)
end

-- Whether browsers' keys alone have said whose a node is.
local function is_hearsay(node)
  return redis.call('EXISTS', prefix .. 'h:' .. node) == 1
end

local function leader_of(person)
  return redis.call('GET', prefix .. 'p:' .. person) or person
end

local function hash_of(key)
  local flat = redis.call('HGETALL', key)
  local hash = {}
  for at = 1, #flat, 2 do hash[flat[at]] = flat[at + 1] end
  return hash
end

local function members_of(leader)
  local members = hash_of(prefix .. 'm:' .. leader)
  for person, seen in pairs(members) do members[person] = tonumber(seen) end
  return members
end

-- Oldest first seen, then smallest id: depends on the set alone, not on the order it grew in.
local function choose(members)
  local best, best_seen = nil, nil
  for person, seen in pairs(members) do
    if best == nil or seen < best_seen or (seen == best_seen and person < best) then best, best_seen = person, seen end
  end
  return best
end

-- Puts persons under who leads them.
local function regroup(members)
  local leader = choose(members)
  for person, seen in pairs(members) do
    redis.call('HSET', prefix .. 'm:' .. leader, person, string.format('%.0f', seen))
    redis.call('SET', prefix .. 'p:' .. person, leader)
  end
  return leader
end

local function forget(leader)
  redis.call('DEL', prefix .. 'm:' .. leader, prefix .. 'i:' .. leader, prefix .. 'x:' .. leader)
end

local function add(flat, ...)
  for _, value in ipairs({ ... }) do flat[#flat + 1] = value end
end

local function size(members)
  local count = 0
  for _ in pairs(members) do count = count + 1 end
  return count
end

-- What is known of persons who become one: of two values the smaller, whatever the order, but where anybody may have joined them that of the
-- first, of whom something was known.
local function merge(known, other, is_public)
  for _, fields in ipairs(VALUES) do
    local before, value = known[fields[1]], other[fields[1]]
    if value and (not before or (not is_public and value < before)) then
      for _, field in ipairs(fields) do known[field] = other[field] end
    end
  end
end

local function store(members, old_leaders, is_public)
  local known = {}
  local said = 0
  for _, old in ipairs(old_leaders) do
    said = said + public_nodes(old)
    if is_known_to_servers(old) then known['!'] = 1 end
    merge(known, hash_of(prefix .. 'i:' .. old), is_public)
    forget(old)
  end
  local leader = regroup(members)
  if said > 0 then known['#'] = said end
  for field, value in pairs(known) do redis.call('HSET', prefix .. 'i:' .. leader, field, value) end
  return leader
end

local function version()
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local last = tonumber(redis.call('GET', prefix .. 'v') or '0')
  if now <= last then now = last + 1 end
  redis.call('SET', prefix .. 'v', string.format('%.0f', now))
  return string.format('%.0f', now)
end

-- A group only grows, so who was refused is refused again; but what filled it may have been lost before it was committed.
local function was_refused(node, members)
  local key = prefix .. 'c:' .. node
  if redis.call('EXISTS', key) == 0 then return false end
  for person, _ in pairs(members) do
    if redis.call('SISMEMBER', key, person) == 1 then return true end
  end
  return false
end

-- Whether one set of persons is the likelier holder of a node: the larger, as it is what others did not fit into.
local function holds_sooner(members, others)
  local count, other_count = size(members), size(others)
  if count ~= other_count then return count > other_count end
  return choose(members) < choose(others)
end

-- Whether the person of the question was claimed by another user before.
local function is_anothers(question, node)
  if not question.y or question.w ~= node then return false end
  local owner = redis.call('GET', prefix .. 'w:' .. question.b)
  return owner and owner ~= node
end

-- An edge that is restored has no claim beside it; its node tells.
local function claim(question, node)
  local claimed = question.w == node or (question.d == 'joined' and is_of_user(node))
  if claimed then redis.call('SET', prefix .. 'w:' .. question.b, node, 'NX') end
end

-- Whether a belonging was decided before one of the two was split.
local function is_before_split(question)
  for _, person in ipairs({ question.b, question.o }) do
    local split = redis.call('GET', prefix .. 's:' .. person)
    if split and tonumber(split) > question.v then return true end
  end
  return false
end

-- Gives a node to the person of the question, and takes back what was known by it of who had it by hearsay.
local function take_over(question, node, leader)
  redis.call('SET', prefix .. 'n:' .. node, question.b)
  redis.call('DEL', prefix .. 'h:' .. node)
  for _, fields in ipairs(VALUES) do
    local key = prefix .. 'i:' .. leader
    local is_of_node = question.j and question.j[fields[1]] == node
    if is_of_node and redis.call('HGET', key, fields[1]) == question.i[fields[1]] then redis.call('HDEL', key, unpack(fields)) end
  end
  return true
end

-- Whether the person of the question is one with who holds the node after this. `join` joins, where a limit allows it, `take`
-- says whether they may have a node that nobody has, and `is_customer` whether a server has told of them beside this node.
local function follow(question, node, members, join, take, is_customer)
  if question.d == 'capped' then
    redis.call('SADD', prefix .. 'c:' .. node, question.b)
    -- One who was split from it; the edge of who has it now was written again.
    if redis.call('GET', prefix .. 'n:' .. node) == question.b then redis.call('DEL', prefix .. 'n:' .. node) end
    return false
  end
  if question.d == 'joined' and redis.call('SISMEMBER', prefix .. 'c:' .. node, question.b) == 1 then return false end
  local key = prefix .. 'n:' .. node
  local holder = redis.call('GET', key)
  if not holder then
    if was_refused(node, members) or not take(node) then return false end
    redis.call('SET', key, question.b)
    if question.k or question.h then redis.call('SET', prefix .. 'h:' .. node, 1) end
    return true
  end
  local leader = leader_of(holder)
  if question.d == 'joined' then
    local is_other = not members[leader] and leader_of(question.b) ~= leader
    if is_other and question.h and not is_hearsay(node) then return false end
    if is_other and question.h == false and is_hearsay(node) then return take_over(question, node, leader) end
    if question.h == false then redis.call('DEL', prefix .. 'h:' .. node) end
    return join(leader, math.huge, node)
  end
  if question.d == nil then
    -- What browsers' keys say joins no two whom servers know.
    local is_other = not members[leader] and leader_of(question.b) ~= leader
    if is_other and not question.k and is_hearsay(node) and is_known_to_servers(leader) and is_customer() then
      return not was_refused(node, members) and take_over(question, node, leader)
    end
    local is_joined = join(leader, cap, node)
    if is_joined and not question.k then redis.call('DEL', prefix .. 'h:' .. node) end
    return is_joined
  end
  if holds_sooner(members, members_of(leader)) then redis.call('SET', key, question.b) end
  return false
end

-- Whether a server says another address, number or customer than the known one, on the browser of the first maybe: of two people nothing
-- is put together.
local function contradicts(question, leader)
  if question.k then return false end
  for field, node in pairs(question.j) do
    local before = redis.call('HGET', prefix .. 'i:' .. leader, field)
    local holder = redis.call('GET', prefix .. 'n:' .. node)
    if before and before ~= question.i[field] and holder and leader_of(holder) == leader then return true end
  end
  return false
end

-- Keeps what is said of a person: an identifier that links where its node is theirs, a name where all such are, as else it may be somebody
-- else's. What anybody could have said, or was said of the past, takes the place of nothing.
local function remember(question, leader)
  if question.i == cjson.null then return end
  local key = prefix .. 'i:' .. leader
  if contradicts(question, leader) then
    if question.f then return end
    for _, fields in ipairs(VALUES) do redis.call('HDEL', key, unpack(fields)) end
  end
  -- A name of whom servers know is what these say.
  local are_all_theirs = not (question.k and is_known_to_servers(leader))
  for _, fields in ipairs(VALUES) do
    local node = question.j[fields[1]]
    local is_theirs = are_all_theirs
    if node then
      local holder = redis.call('GET', prefix .. 'n:' .. node)
      is_theirs = holder and leader_of(holder) == leader
      are_all_theirs = are_all_theirs and is_theirs
    end
    if question.i[fields[1]] and is_theirs and not ((question.k or question.f) and redis.call('HGET', key, fields[1])) then
      for _, field in ipairs(fields) do
        if question.i[field] then redis.call('HSET', key, field, question.i[field]) else redis.call('HDEL', key, field) end
      end
    end
  end
end

local function link(question)
  local leader = leader_of(question.b)
  local members = members_of(leader)
  local changed = false
  if members[question.b] == nil or question.t < members[question.b] then
    members[question.b] = question.t
    changed = true
  end
  local old_leaders = { leader }
  local capped, others = {}, {}
  -- Anybody may say by a browser's key that two people are one: it joins who is new to who is known, and fills half of a person.
  local is_known = redis.call('EXISTS', prefix .. 'p:' .. question.b) == 1
  local most = question.k and math.ceil(cap / 2) or cap
  local said = 0
  local is_disbelieved = false

  -- Whether this very event was the first to say anything of somebody, as of the other id of its visitor.
  local function is_of_event(other, joined)
    if size(joined) > 1 or is_known_to_servers(other) then return false end
    return redis.call('GET', prefix .. 'x:' .. other) == question.c
  end

  local function is_old(other)
    for _, old in ipairs(old_leaders) do
      if old == other then return true end
    end
    return false
  end

  -- Whether they are one after this; they are not where that would be more persons than the limit.
  local function join(other, limit, node)
    if is_old(other) then return true end
    local joined = members_of(other)
    if joined[other] == nil then joined[other] = UNSEEN end
    local count = size(members) + size(joined)
    if count > limit then return false end
    if limit == cap then
      if was_refused(node, members) then return false end
      if question.k and ((is_known and not is_of_event(other, joined)) or count > most) then
        is_disbelieved = true
        return false
      end
    end
    is_known = true
    for person, seen in pairs(joined) do members[person] = seen end
    old_leaders[#old_leaders + 1] = other
    changed = true
    return true
  end

  local has_own_node = false
  local function is_customer()
    for _, old in ipairs(old_leaders) do
      if is_known_to_servers(old) then return true end
    end
    return has_own_node
  end

  -- Of whom servers know something browsers' keys may say no more.
  local function take(node)
    if is_of_user(node) then return true end
    if not question.k then
      has_own_node = true
      return true
    end
    local count = said
    for _, old in ipairs(old_leaders) do count = count + public_nodes(old) end
    if is_customer() or count >= PUBLIC_NODES_MAX then
      is_disbelieved = true
      return false
    end
    said = said + 1
    return true
  end

  local function is_followed(node)
    local holder = redis.call('GET', prefix .. 'n:' .. node)
    return holder and is_old(leader_of(holder))
  end

  if question.o and not members[question.o] and not is_before_split(question) then join(leader_of(question.o), math.huge) end
  for at, node in ipairs(question.n) do
    is_disbelieved = false
    if is_anothers(question, node) and not is_followed(node) then
      others[#others + 1] = at - 1
    elseif follow(question, node, members, join, take, is_customer) then
      claim(question, node)
    else
      -- What was only not believed is not written down: a server's key may say it yet.
      local refused = is_disbelieved and others or capped
      refused[#refused + 1] = at - 1
    end
  end
  if changed then
    leader = store(members, old_leaders, question.k)
    if not restoring then redis.call('SET', prefix .. 'x:' .. leader, question.c) end
  end
  if said > 0 then redis.call('HINCRBY', prefix .. 'i:' .. leader, '#', said) end
  local is_of_server = not restoring and not question.k
  if is_of_server or (question.d and question.h == false) then note_known_to_servers(leader) end
  remember(question, leader)
  local flat = {}
  if redis.call('GET', prefix .. 'x:' .. leader) == question.c then
    for person, seen in pairs(members_of(leader)) do add(flat, person, string.format('%.0f', seen)) end
  end
  local hearsay = {}
  for at, node in ipairs(question.n) do
    if is_hearsay(node) then hearsay[#hearsay + 1] = at - 1 end
  end
  return leader, flat, capped, others, hearsay
end

-- All who are one with any of these, flat: each, whom it is part of, and when it was first seen.
local function groups_of(persons)
  local flat, asked = {}, {}
  for _, person in ipairs(persons) do
    local leader = leader_of(person)
    if not asked[leader] then
      asked[leader] = true
      for member, seen in pairs(members_of(leader)) do add(flat, member, leader, string.format('%.0f', seen)) end
    end
  end
  return flat
end

local function split(item)
  local groups, known, old_leaders = {}, {}, {}
  local named, found = 0, 0
  local is_served = false
  for at, persons in ipairs(item.m) do
    groups[at] = {}
    for _, person in ipairs(persons) do
      named = named + 1
      local leader = leader_of(person)
      if not old_leaders[leader] then
        old_leaders[leader] = true
        is_served = is_served or is_known_to_servers(leader)
        for member, seen in pairs(members_of(leader)) do
          known[member] = seen
          found = found + 1
        end
      end
    end
  end
  for at, persons in ipairs(item.m) do
    for _, person in ipairs(persons) do
      if known[person] == nil then return false end
      groups[at][person] = known[person]
    end
  end
  if named ~= found then return false end
  local at_version = version()
  for leader, _ in pairs(old_leaders) do forget(leader) end
  local flat = {}
  for _, members in ipairs(groups) do
    -- What is known of them is learned anew, as nobody knows whose of two it was.
    local leader = regroup(members)
    if is_served then note_known_to_servers(leader) end
    for person, seen in pairs(members) do
      redis.call('SET', prefix .. 's:' .. person, at_version)
      add(flat, person, leader, string.format('%.0f', seen))
    end
  end
  for _, cut in ipairs(item.c) do
    redis.call('SADD', prefix .. 'c:' .. cut[2], cut[1])
    if redis.call('GET', prefix .. 'w:' .. cut[1]) == cut[2] then redis.call('DEL', prefix .. 'w:' .. cut[1]) end
  end
  for _, holder in ipairs(item.h) do redis.call('SET', prefix .. 'n:' .. holder[1], holder[2]) end
  return { at_version, flat }
end

-- Takes a person out of the group that it was split from, and puts it beside whom it is part of since; not by a union, since who
-- that is may be in the same group yet.
local function restore_split(question)
  local last = redis.call('GET', prefix .. 's:' .. question.b)
  if last and tonumber(last) >= question.s then return end
  redis.call('SET', prefix .. 's:' .. question.b, string.format('%.0f', question.s))
  local old = leader_of(question.b)
  redis.call('DEL', prefix .. 'i:' .. old, prefix .. 'x:' .. old)
  if old ~= question.o then
    local members = members_of(old)
    members[question.b] = nil
    redis.call('HDEL', prefix .. 'm:' .. old, question.b)
    if old == question.b and next(members) then
      forget(old)
      regroup(members)
    end
  end
  redis.call('HSET', prefix .. 'm:' .. question.o, question.b, string.format('%.0f', question.t))
  redis.call('SET', prefix .. 'p:' .. question.b, question.o)
end

-- More would not fit Lua's stack.
local KEYS_PER_CALL = 1000

local function known_of(leader)
  return leader and { leader, redis.call('HGETALL', prefix .. 'i:' .. leader) } or false
end

-- A person has a key of its own as soon as anything is known of them.
local function look_up(persons)
  -- So it is for most of many small sites.
  if #persons == 1 then return { known_of(redis.call('GET', prefix .. 'p:' .. persons[1])) } end
  local found = {}
  for from = 1, #persons, KEYS_PER_CALL do
    local keys = {}
    for at = from, math.min(from + KEYS_PER_CALL - 1, #persons) do keys[#keys + 1] = prefix .. 'p:' .. persons[at] end
    for _, leader in ipairs(redis.call('MGET', unpack(keys))) do
      found[#found + 1] = known_of(leader)
    end
  end
  return found
end

local function answer(question)
  if question.v and question.v > tonumber(redis.call('GET', prefix .. 'v') or '0') then
    redis.call('SET', prefix .. 'v', string.format('%.0f', question.v))
  end
  if question.s then return restore_split(question) end
  local leader, flat, capped, others, hearsay = link(question)
  if restoring then return nil end
  local known = redis.call('HGETALL', prefix .. 'i:' .. leader)
  return { leader, known, flat, #flat > 0 and version() or '0', capped, others, hearsay }
end

local function answers_to(text)
  if string.byte(text) ~= JSON_LIST then return { look_up({ text }) } end
  local answers = {}
  for index, question in ipairs(cjson.decode(text)) do
    if splitting then
      answers[index] = split(question)
    elseif question.g then
      answers[index] = groups_of(question.g)
    else
      answers[index] = question.p and look_up(question.p) or answer(question)
    end
  end
  return answers
end

local sites = {}
for site = 1, #ARGV - HEAD do
  prefix = KEYS[site + 1]
  sites[site] = answers_to(ARGV[HEAD + site])
end
return sites
