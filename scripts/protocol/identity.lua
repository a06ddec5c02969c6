-- decimal.lua: exact arithmetic over all of int64, put in front of every script.
--
-- Lua numbers are doubles, exact only up to 2^53, so a value stays the canonical decimal text that is stored and sent.
-- Values are compared by length, then as text. A sum is computed with doubles if both terms are short, and else in two
-- halves, high * 10^9 + low, which stay far below 2^53. '%.0f' formats a whole double, because tostring() switches to
-- exponents on Redis, and '%d' is a C long, which ends at 2^31 on a 32-bit server.

local find, sub, format = string.find, string.sub, string.format

local LARGEST = '9223372036854775807'

-- Reports whether text is a canonical decimal between 0 and 2^63-1.
local function decimal(text)
  return text == '0' or text and find(text, '^[1-9]%d*$') and (#text < 19 or #text == 19 and text <= LARGEST)
end

local function above(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

-- Returns a + sign * b, which must not be below 0.
local function sum(a, b, sign)
  if #a < 16 and #b < 16 then return format('%.0f', a + sign * b) end
  local high = (tonumber(sub(a, 1, -10)) or 0) + sign * (tonumber(sub(b, 1, -10)) or 0)
  local low = tonumber(sub(a, -9)) + sign * tonumber(sub(b, -9))
  if low >= 1000000000 then high, low = high + 1, low - 1000000000 end
  if low < 0 then high, low = high - 1, low + 1000000000 end
  if high == 0 then return format('%.0f', low) end
  return format('%.0f%09.0f', high, low)
end

-- Returns a + b, at most LARGEST. Most terms are short, and '%d' takes half the time of '%.0f'.
local function plus(a, b)
  if #a < 10 and #b < 10 then return format('%d', a + b) end -- below 2^31
  local total = sum(a, b, 1)
  if above(total, LARGEST) then return LARGEST end
  return total
end
-- state.lua: reads stored state, the clock and the replication id; put in front of every script after decimal.lua.

local DECIMAL = 'must be a decimal from 0 to 9223372036854775807 without sign or leading zeros'

-- Returns an error reply with a tag, about a key and, if there is one, a value and the rule that it breaks.
local function refusal(tag, key, text, value, rule)
  local function printable(part) return (string.gsub(sub(part, 1, 40), '%c', '?')) end
  text = 'HILO_' .. tag .. ' key ' .. printable(key) .. ' ' .. text
  if value then text = text .. ' "' .. printable(value) .. '": ' .. rule end
  return redis.error_reply(text)
end

-- Returns fields of a hash in the given order, with false for an absent one, or nil and an error reply.
local function fields(key, ...)
  local read = redis.pcall('HMGET', key, ...)
  if read.err then
    if find(read.err, 'WRONGTYPE', 1, true) then return nil, refusal('CORRUPT', key, 'is not a hash') end
    return nil, read
  end
  return read
end

-- Returns the time of a write and the seconds of the server's clock. The time is the clock's microseconds, or last + 1 if
-- the clock went back. So no two writes of a counter have the same time. A counter that was lost and begins anew repeats no
-- time, because it begins later.
local function write_time(last)
  local now = redis.call('TIME')
  local seconds, microseconds = now[1], now[2] -- joined as texts: formatting their sum takes 3 % of a range's time
  local written = seconds == '0' and microseconds or seconds .. sub('00000' .. microseconds, -6)
  if not above(written, last) then written = plus(last, '1') end
  return written, seconds
end
-- replication.lua: reads INFO replication; put after state.lua where the replication id is needed.
--
-- Leaves info, the text, and replication, the server's replication id, which changes when a server restarts and when a
-- replica is promoted. Both are '' where INFO is not permitted. Leaves is_replica.

local info = redis.pcall('INFO', 'replication')
if type(info) ~= 'string' then info = '' end
local _, label = find(info, 'master_replid:', 1, true) -- a pattern would take seven times as long
local replication = label and string.match(info, '^%x+', label + 1) or ''

-- The error of a replica that accepts writes (replica-read-only no). Such a replica has the replication id of its primary,
-- which issues the same numbers, so nothing else would show that they are two servers.
local is_replica = find(sub(info, 1, 40), 'role:slave', 1, true)
local ON_REPLICA = 'READONLY numbers are not issued by a replica, even one that accepts writes'
local HOME = true
-- server.lua: reads the server's own key at the start of every script that issues or seeds. It ends the script with an
-- error reply if that key is unusable, or if a name would be used for both kinds.
--
-- KEYS[1] -> the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3] -> the key of the same name and the other kind; KEYS[2] again if there is none
--
-- Leaves key, server_key, other_key, prefix, tag, home (Identities is 'here'), durable ('always' or ''), replicas (the N of
-- Durable = replicas:N, or '0'), min_value, max_value, interval (they are not 1 and 2^63-1) and bare (identifiers have
-- neither prefix nor tag). The loader defines HOME, which is true if Identities is read.

local key, server_key, other_key = KEYS[1], KEYS[2], KEYS[3]

local server, server_err
if HOME then -- a field more costs each range 1 % of the server's time
  server, server_err = fields(server_key, 'ServerPrefix', 'NodeTag', 'Durable', 'MinValue', 'MaxValue', 'Identities')
else
  server, server_err = fields(server_key, 'ServerPrefix', 'NodeTag', 'Durable', 'MinValue', 'MaxValue')
end
if server_err then return server_err end

-- The client checks the whole rule, with Unicode. This part of it saves a range that the client would discard.
local prefix, tag, durable, home = server[1] or '', server[2] or '', server[3] or '', server[6] == 'here'
if prefix ~= '' and (#prefix > 64 or not find(prefix, '^[^|{}%s%c]*[^|{}%s%c%d]$')) then
  return refusal('CORRUPT', server_key, 'field ServerPrefix holds', prefix,
    'must be 0 to 64 bytes without "|", braces, white space or controls, and not end in a digit')
end
if tag ~= '' and (#tag > 8 or not find(tag, '^[A-Za-z][A-Za-z0-9]*$')) then
  return refusal('CORRUPT', server_key, 'field NodeTag holds', tag, 'must be 1 to 8 of A-Z a-z 0-9, first a letter')
end
local replicas = '0'
if server[3] and durable ~= 'always' then
  replicas = string.match(durable, '^replicas:([1-9]%d?%d?)$')
  if not replicas then
    return refusal('CORRUPT', server_key, 'field Durable holds', durable, 'must be always, replicas:N with N of 1 to 999, or absent')
  end
  durable = ''
end
if server[6] and not home then
  return refusal('CORRUPT', server_key, 'field Identities holds', server[6], 'must be here, or absent')
end
local min_value, max_value, interval = '1', LARGEST, server[4] or server[5]
if interval then
  for i, name in ipairs({'MinValue', 'MaxValue'}) do
    local value = server[3 + i]
    if value and (value == '0' or not decimal(value)) then
      return refusal('CORRUPT', server_key, 'field ' .. name .. ' holds', value, 'must be a decimal of 1 or more, or absent')
    end
  end
  min_value, max_value = server[4] or min_value, server[5] or max_value
  if above(min_value, max_value) then
    return refusal('CORRUPT', server_key, 'field MaxValue holds', max_value, 'must not be below MinValue, ' .. min_value)
  end
  interval = min_value ~= '1' or max_value ~= LARGEST
end
local bare = prefix == '' and tag == ''

-- Without prefix and tag an identity and a number of a collection have the same text, so a name is one or the other.
if bare and other_key ~= server_key and redis.call('EXISTS', other_key) == 1 then
  return refusal('MIXED', key, 'may not be used while the key of the same name and the other kind exists:', other_key,
    'without a server prefix or node tag both have the same identifiers')
end
-- guard.lua: decides whether writes may have been lost; put after server.lua and replication.lua.
--
-- If the server's Durable is contradicted, durable becomes the reason, and the script removes the field before it writes
-- anything else.

local RANGE_GAP, IDENTITY_GAP = '65536', '1024'

-- Durable states that this server's data is nowhere else, and a connected replica has it.
if durable == 'always' and find(info, 'connected_slaves:', 1, true) and not find(info, 'connected_slaves:0\r', 1, true) then
  durable = 'replica'
end

-- Reports whether writes may have been lost since the counter with this Origin was written, because the server was
-- restarted or promoted since. Every comparison of an Origin is made here. The second result is the new value of durable.
--
-- Durable waives that for a server that was restarted from its own AOF, which has every acknowledged write. It is accepted
-- only as far as INFO agrees, by three fields. The server has no past history, which a promoted replica has, and so has a
-- server that had a replica and is restarted from an RDB file. It has no replica, because the first one to attach changes
-- the id and clears the history. The AOF is on. These do not prove such a restart, so Durable has to state the rest. A
-- promoted replica also loses its history when repl-backlog-ttl passes, and an AOF may have been off for a while. A field
-- that INFO does not show does not agree. (Arguments are cheaper than upvalues, by 1 % of the server's time each.)
local function lost_since(origin, replication, info, durable)
  if origin == '' or origin == replication then return false, durable end
  if durable ~= 'always' or replication == '' then return true, durable end
  local persistence = redis.pcall('INFO', 'persistence') -- by itself: two sections fail before Redis 7.0
  if not find(info, 'connected_slaves:0\r', 1, true) or
      not find(info, 'master_replid2:0000000000000000000000000000000000000000\r', 1, true) then
    return true, 'history'
  end
  if type(persistence) ~= 'string' or not find(persistence, 'aof_enabled:1\r', 1, true) then return true, 'aof' end
  local cluster = redis.pcall('INFO', 'cluster') -- where a slot takes the field to a server that it was not set for
  if type(cluster) == 'string' and find(cluster, 'cluster_enabled:1', 1, true) then return true, 'cluster' end
  return false, durable
end
local IDENTITY = true
-- take.lua: issues numbers from a counter, the next range of a collection (next), or the next values of an identity or
-- of the counter of server-side identifiers (identity).
--
-- KEYS[1]  -> {ns}/HiLo/<name>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2]  -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3]  -> the key of the same name and the other kind, only read; KEYS[2] again if there is none, as for server-side
--             identifiers
-- ARGV[1]  -> token: unique to this request; a resend repeats it
-- ARGV[2]  -> count: size of the range requested, 1 or more
-- ARGV[3]  -> limit: greatest number that may ever be issued
-- ARGV[4]  -> floor: greatest number that was issued to this client and not returned, 0 for none
-- ARGV[5]  -> seen_epoch: greatest epoch of the counter that this client has seen, 0 for none
-- ARGV[6]  -> least_gap: lower bound of the gap of a jump
-- ARGV[7]  -> name, as the caller spells it
-- ARGV[8]  -> require_seeded: '1' makes a missing counter an error
-- ARGV[9]  -> require_prefix: '1' makes a server with neither prefix nor tag nor interval an error
-- ARGV[10] -> other_floor: greatest number of the other kind of this name that this server issued to this client
--             without prefix and tag, 0 for none
-- ARGV[11] -> raise_top: '1' for a gateway whose clients return ranges by their end, and count on past it. Reads and raises
--             Top, and ends ranges 1,048,576 below MaxValue; '0' for identities
-- ARGV[12] -> awaited: number of replicas whose acknowledgement the client waits for before it uses a number
-- ARGV[13] -> at_least: number above which the range begins, less than 2^31 above the counter; no evidence of anything.
--             0 for none, as for identities
-- ARGV[14] -> identity only: seen_lowered, value of Lowered when floor was issued
-- ARGV[15] -> identity only: exact, the value to issue if every issued value is below it, 0 for the next values
-- ARGV[16] -> identity only: anywhere, '1' also issues on a server that is not the home of identities
--
-- Output: {token, low, high, epoch, prefix, tag, jump, evidence, issued, seconds, origin, ranges, written, last,
-- durable, top}, all strings, and {min_value, max_value, replicas} behind them if the server has one of these settings:
--   token     of the request, so that the reply to another request is detected
--   jump      distance by which the counter was advanced because writes may have been lost, 0 if it was not
--   evidence  reason for the jump: 'floor' (the counter is below it), 'missing' (and does not exist), 'epoch' (below the
--             one seen), 'origin' (the server was restarted or promoted since), 'other' (identity only: the collection of
--             the name may have lost writes), or '' for no jump
--   issued    numbers issued in this minute and in the last one before it that had any, by the server's clock
--   seconds   length of that period so far, 1 or more
--   origin    replication id of this server, '' if INFO is not permitted
--   ranges    number of ranges issued, this one included
--   written   time of this write, which no other write of the counter has
--   last      next: time of the previous write, 0 if there was none or this is a resend. If it is the written of the
--             range that ends right below, nothing was issued in between. identity: number of forced seeds that lowered
--             it
--   durable   '' if the server has no Durable, 'always' if it stays, else why it was removed: 'replica' (one is
--             connected), 'history' (the replication id changed otherwise than by a restart from the AOF), 'aof' (it is
--             off), 'cluster' (the server is a node of one), 'evidence' (writes were lost all the same)
--   top       with raise_top the value of Top before this range, 0 for none; else 0
--   min_value, max_value, replicas  '1', 2^63-1 and '0' where they are not set
-- If an exact value cannot be issued, low is '0', and the counter is not written.
-- Errors: HILO_ARGUMENT, HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_NOPREFIX, HILO_MIXED, HILO_UNGUARDED and
-- HILO_REPLICAS, whose text begins with the number of replicas to wait for; of next also HILO_RAISE; of identity also HILO_ELSEWHERE.
-- Nothing is written.
--
-- Sent twice: next replies the same range as long as the token is the newest lease and there is no evidence of lost
-- writes. No other client can hold that range, because it was computed once, for this token, and the reply was lost.
-- identity issues other values, and the first ones become a gap. An exact value is refused.
--
-- The loader defines IDENTITY, which is true for identity. Everything is read and checked before anything is written. The
-- file is one function, because a closure for each of its parts takes 11 % more of the server's time.

local token, count, limit, floor, seen_epoch, least_gap, name, require_seeded, require_prefix, other_floor, raise_top,
  awaited, at_least, seen_lowered, exact, anywhere = unpack(ARGV)
local field, own_field, least = 'Max', 'Low', RANGE_GAP
if IDENTITY then field, own_field, least = 'Value', 'Lowered', IDENTITY_GAP end

if #ARGV ~= (IDENTITY and 16 or 13) or not (decimal(count) and decimal(limit) and decimal(floor) and decimal(seen_epoch) and
    decimal(least_gap) and decimal(other_floor) and decimal(awaited) and decimal(at_least)) or count == '0' or token == '' or
    IDENTITY and not (decimal(seen_lowered) and decimal(exact)) then
  return redis.error_reply('HILO_ARGUMENT want ' .. (IDENTITY and 16 or 13) .. ' arguments, a token, a count of 1 or more, and decimals')
end
if is_replica then return redis.error_reply(ON_REPLICA) end
if replicas ~= awaited and above(replicas, awaited) then -- before other refusals, so that the client learns it with the first one
  return redis.error_reply('HILO_REPLICAS ' .. replicas .. ' replicas have to acknowledge a number before it is used, by Durable of key ' ..
    server_key .. '; the request waits for ' .. awaited)
end
if bare and not interval and require_prefix == '1' then
  return refusal('NOPREFIX', server_key, 'has neither ServerPrefix nor NodeTag nor an interval, and one is required')
end
local alone = other_key == server_key -- there is no other kind
if bare and other_floor ~= '0' and not alone then
  return refusal('MIXED', key, 'may not be used: without prefix and tag this client was issued up to ' .. other_floor ..
    ' of the other kind of the name, and its key is gone:', other_key, 'both have the same identifiers')
end
if IDENTITY and not (alone or bare and not interval or home or anywhere == '1') then -- all values of a name come from one server
  return refusal('ELSEWHERE', key, 'may not be used: the server has a prefix, node tag or interval and is not the home of identities: ' ..
    'Identities is not here in ' .. server_key)
end

-- Read the counter.
local read, err
if raise_top == '1' then -- read together: a second call takes 4 % of a range's time
  read, err = fields(key, field, own_field, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written', 'Lease', 'Origin', 'Top')
else
  read, err = fields(key, field, own_field, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written', 'Lease', 'Origin')
end
if err then return err end
local missing = not read[1]
for i = 1, 9 do
  local value = read[i]
  if not value then
    read[i] = '0'
  elseif missing then
    return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were issued; seed it above all that was issued')
  elseif not decimal(value) then
    local names = {field, own_field, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written'}
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', value, DECIMAL)
  end
end
local max, own, ranges, epoch, minute, issued, issued_before, bare_max, before = unpack(read, 1, 9)
local lease, origin, top = read[10] or '', read[11] or '', read[12] or '0'
if not decimal(top) then return refusal('CORRUPT', key, 'field Top holds', top, DECIMAL) end
if missing and (lease ~= '' or origin ~= '') then
  return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were issued; seed it above all that was issued')
end
if missing and require_seeded == '1' then
  return refusal('NOTSEEDED', key, 'does not exist and RequireSeeded is set; seed it above all that was issued')
end

-- The interval. A counter that is missing or below it stands right below it.
local stored, limit_name = max, 'the limit'
if interval then
  local greatest = max_value
  if above(min_value, max) then max = sum(min_value, '1', -1) end
  if raise_top == '1' then greatest = above(max_value, '1048576') and sum(max_value, '1048576', -1) or '0' end
  if above(limit, greatest) then limit, limit_name = greatest, 'MaxValue of ' .. server_key .. ', less a margin for a gateway,' end
  if limit == max_value then limit_name = 'MaxValue of ' .. server_key end
end

-- Without INFO this client cannot detect a restart, and its write would hide one from the others.
local UNGUARDED = 'has an Origin to compare with INFO; permit +info, or remove the field Origin if no user may call INFO'
if origin ~= '' and replication == '' then return refusal('UNGUARDED', key, UNGUARDED) end

-- Look for evidence that the server lost writes. Replication and persistence can lose the newest ones, so a counter can
-- go back. Floor and epoch show that to a client that received later numbers, the replication id to every client.
if IDENTITY and above(own, seen_lowered) then floor = '0' end -- lowered on purpose since
local evidence = ''
if above(floor, stored) then
  evidence = missing and 'missing' or 'floor'
elseif above(seen_epoch, epoch) then
  evidence = 'epoch'
else
  local lost
  lost, durable = lost_since(origin, replication, info, durable)
  if lost then evidence = 'origin' end
end

local base, jump, far = max, '0', max
if evidence ~= '' or IDENTITY and not (alone or bare) then
  -- Returns the gap above start, and its end, past everything that can have been issued. The tallies that count are those
  -- stored, however long ago: an outage issues nothing, and must not make them forgotten.
  local function past(start, few, least, tally)
    local gap, issued_twice = plus(count, count), plus(tally, tally)
    if above(issued_twice, gap) then gap = issued_twice end
    if not few and above(least, gap) then gap = least end
    if not few and above(least_gap, gap) then gap = least_gap end
    return gap, plus(start, gap)
  end

  local start, gap, few
  if evidence ~= '' then
    start = above(floor, max) and floor or max
    -- With replicas:N a server that was promoted from the history that wrote the counter, and has run since before that
    -- write, has every number that was used. One that was started since has what its disk had, and so have its replicas. A
    -- field that INFO does not show says nothing.
    if evidence == 'origin' and replicas ~= '0' and find(info, 'master_replid2:' .. origin .. '\r', 1, true) then
      local server_info = redis.pcall('INFO', 'server') -- by itself: two sections fail before Redis 7.0
      local uptime = type(server_info) == 'string' and tonumber(string.match(server_info, 'uptime_in_seconds:(%d+)') or 0) or 0
      local now = redis.call('TIME')
      local age = (now[1] * 1000000 + now[2] - before) / 1000000 -- in seconds; of microseconds, so that it is exact
      few = age >= 0 and uptime > age + 1
    end
    gap, far = past(start, few, least, plus(issued, issued_before))
  end

  -- An identity continues above the numbers that the collection of its name issued without prefix and tag, because their
  -- texts are equal. Bare is the greatest of these, unless writes of that key may have been lost. Then it is at most the
  -- end of the gap above Bare. Where there is no Bare there were no such numbers, because replication and the AOF keep the
  -- order of writes: a prefix that survived says that all numbers before it did. That key is not written, so the same is
  -- found again until a range is taken from it. By then this counter is above.
  if IDENTITY and not (alone or bare) then
    local names = {'Bare', 'Issued', 'IssuedBefore', 'Origin'}
    local other, other_err = fields(other_key, unpack(names))
    if other_err then return other_err end
    for i = 1, 3 do
      if not other[i] then
        other[i] = '0'
      elseif not decimal(other[i]) then
        return refusal('CORRUPT', other_key, 'field ' .. names[i] .. ' holds', other[i], DECIMAL)
      end
    end
    local other_bare, other_issued, other_before = unpack(other, 1, 3)
    local other_origin, lost = other[4] or '', false
    if other_bare ~= '0' then
      if other_origin ~= '' and replication == '' then return refusal('UNGUARDED', other_key, UNGUARDED) end
      lost, durable = lost_since(other_origin, replication, info, durable)
    end
    if lost or above(other_floor, other_bare) then
      local other_start = above(other_floor, other_bare) and other_floor or other_bare
      local gap_above, other_far = past(other_start, false, RANGE_GAP, plus(other_issued, other_before))
      if above(other_far, far) then
        start, gap, far, few = other_start, gap_above, other_far, false
        if evidence == '' then evidence = 'other' end
      end
    elseif above(other_bare, base) then
      base = other_bare
    end
  end

  -- Jump. A pseudo-random offset, uniform over 64 gaps and derived from token and replication id, is added: two servers
  -- that continue from the same state, such as an old primary and its replacement, are unlikely to issue overlapping
  -- ranges. The replication id is part of it because one request may be sent to both, if the reply of the first is lost.
  if evidence ~= '' then
    -- Returns an integer in [0, size), from 96 bits of a hash. The last nine digits of a large size are drawn separately,
    -- because doubles are exact only up to 2^53.
    local function place(hash, size)
      local function fraction(from) -- by 48 bits; tonumber takes no more than 32 everywhere
        return (tonumber(sub(hash, from, from + 5), 16) * 2 ^ 24 + tonumber(sub(hash, from + 6, from + 11), 16)) / 2 ^ 48
      end
      if #size < 16 then return format('%.0f', math.floor(fraction(1) * (tonumber(size) or 0))) end
      local high = format('%.0f', math.floor(fraction(1) * sub(size, 1, -10)))
      local low = format('%09.0f', math.floor(fraction(13) * 1000000000))
      return string.match(high .. low, '^0*(%d+)$') -- without leading zeros
    end

    if above(base, far) then far = base end -- a Bare, to which two servers add different offsets too
    if not above(limit, far) then
      return refusal('EXHAUSTED', key, 'stands at ' .. max .. ', writes may have been lost (' .. evidence .. '), and up to ' ..
        limit_name .. ' ' .. limit .. ' there is no room for a gap of ' .. gap .. ' above ' .. start ..
        '; find out what was issued, and seed the counter above it')
    end
    local places = gap
    for _ = 1, few and 0 or 6 do places = plus(places, places) end
    local left = sub(sum(limit, far, -1), 1, -4)
    if above(places, left) then places = left end -- at most a thousandth of what is left
    base = plus(far, place(redis.sha1hex(token .. replication), places))
    jump = sum(base, max, -1)
    if above(seen_epoch, epoch) then epoch = seen_epoch end
    epoch = plus(epoch, '1')
    if durable == 'always' then durable = 'evidence' end
  end
end
if at_least ~= '0' then
  if above(at_least, max) and (above(at_least, limit) or #at_least > 9 and above(sum(at_least, max, -1), '2147483647')) then
    return refusal('RAISE', key, 'stands at ' .. max .. ' and is not raised to ' .. at_least .. ': it must be less than 2^31 above, ' ..
      'and not above ' .. limit_name .. ' ' .. limit)
  end
  if above(at_least, base) then base = at_least end
end

-- Bring the tallies to this minute of the server's clock. After a clock was set back both are kept, and after it was set
-- forward the last minute that had any, so that the gap is rather too large.
local written, now = write_time(before)
local seconds = now - 60 * minute
local another_minute = seconds < 0 or seconds >= 60
if another_minute then
  minute = format('%.0f', math.floor(now / 60))
  issued_before = seconds < 0 and plus(issued_before, issued) or issued
  issued, seconds = '0', now % 60
end
if seconds < 1 then seconds = 1 end
if issued_before ~= '0' then seconds = seconds + 60 end

-- Choose the numbers. issue is how many are written, nil if none are.
local low, high, issue, last, more
local resent = lease == token and sum(sum(own, count, 1), '1', -1) -- the end of the range that the lease is for
if resent and above(resent, limit) then resent = limit end
if IDENTITY then
  low, high, issue, last, more = plus(base, '1'), plus(base, count), count, own, {}
  if exact ~= '0' then
    low, high, issue = exact, exact, '1'
    if evidence ~= '' or not above(exact, base) then
      low, high, issue, evidence, jump, epoch = '0', max, nil, '', '0', read[4]
    end
  end
elseif resent == max and evidence == '' and above(own, floor) and above(own, at_least) then
  -- A resend, unless Max was moved by hand meanwhile, so that the range is not what was replied, or writes may have
  -- been lost, so that another client may hold it. It writes something, so that a WAIT behind it covers this connection.
  low, high, written, last = own, max, before, '0'
  more = {'Lease', token}
else
  low, high, issue, last = plus(base, '1'), plus(base, count), count, before
  ranges = plus(ranges, '1')
  more = {'Low', low, 'Lease', token, 'Ranges', ranges}
end

if issue and not above(limit, high) then -- the limit is reached, or passed
  local left = above(limit, base) and sum(limit, base, -1) or '0'
  if exact ~= '0' and IDENTITY then left = above(exact, limit) and '0' or '1' end
  if left == '0' or IDENTITY and above(issue, left) then
    return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and ' .. limit_name .. ' is ' .. limit)
  end
  if above(issue, left) then high, issue = limit, left end
end

-- Write and reply. Lost numbers may have been issued without prefix and tag, whatever the server has now. Once Origin is
-- this server's, only Bare shows that to the identity of the name.
if durable ~= '' and durable ~= 'always' then redis.call('HDEL', server_key, 'Durable') end
if not IDENTITY then
  local bare_to = bare and high or evidence ~= '' and far or '0'
  if above(bare_to, bare_max) then more[#more + 1], more[#more + 2] = 'Bare', bare_to end
  if raise_top == '1' and above(high, top) then more[#more + 1], more[#more + 2] = 'Top', high end
end
if issue then
  issued = plus(issued, issue)
  if another_minute then
    redis.call('HSET', key, 'Minute', minute, 'IssuedBefore', issued_before)
  end
  if origin == '' and not redis.call('HMGET', key, 'Name')[1] then redis.call('HSET', key, 'Name', name) end
  if evidence ~= '' then redis.call('HSET', key, 'Epoch', epoch) end
  redis.call('HSET', key, field, high, 'Issued', issued, 'Written', written, unpack(more))
elseif not IDENTITY then
  redis.call('HSET', key, unpack(more))
end
if replication ~= origin and (issue or not IDENTITY) then redis.call('HSET', key, 'Origin', replication) end
local lately = issued_before == '0' and issued or plus(issued, issued_before)
if not interval and replicas == '0' then min_value, max_value, replicas = nil, nil, nil end -- which ends the reply
return {token, low, high, epoch, prefix, tag, jump, evidence, lately,
  format('%d', seconds), replication, ranges, written, last, durable, top, min_value, max_value, replicas} -- seconds are far below 2^31
