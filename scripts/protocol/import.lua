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
local HOME = false
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
-- gap.lua: computes the gap of a jump without a request; put after guard.lua.

-- Returns the end of the gap above value: the least gap, or twice the tallies.
local function past(value, least, tally)
  local gap = plus(tally, tally)
  if above(least, gap) then gap = least end
  return plus(value, gap)
end

-- Refuses a value that a seed or an import may not write, or returns nil.
local function beyond(value)
  if above(value, max_value) then
    return refusal('EXHAUSTED', key, 'may not be raised above MaxValue of ' .. server_key .. ', ' .. max_value .. ', to', value,
      'it would issue nothing more')
  end
end

-- Returns where a counter with a value stands, which is at MinValue-1 or above.
local function standing(value)
  local start = sum(min_value, '1', -1)
  return above(start, value) and start or value
end
-- import.lua: raises a counter of any kind to its state on another server, or in another program.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3] -> the key of the same name and the other kind, whose existence is checked; KEYS[2] again if there is none, or
--            if the server is about to get a prefix, and then Bare is not raised to the value
-- ARGV[1] -> field that holds the number, 'Max' or 'Value'
-- ARGV[2] -> wanted: value to raise it to
-- ARGV[3] -> name, as the caller spells it
-- ARGV[4] -> epoch to raise Epoch to
-- ARGV[5] -> ranges to raise Ranges to
-- ARGV[6] -> bare_max: greatest number issued without prefix and tag, to raise Bare to; 0 for none, as for every
--            identity
-- ARGV[7] -> top: greatest High that a gateway issued, to raise Top to; 0 for none
-- ARGV[8] -> lost: '1' if the source may have lost writes since it wrote the counter
-- ARGV[9] -> issued: the source's tallies, Issued and IssuedBefore together, to raise Issued to
-- ARGV[10] -> lowered: the source's Lowered, which replaces Lowered, also by a smaller one, if written is not 0
-- ARGV[11] -> written: the source's Written, which is below the time of every later write here, 0 if it is unknown
-- ARGV[12] -> forced: the source's Forced, '' for none, which replaces an older one
--
-- Output: {value that stands now; value that stood before, '' if there was none}. A value below MinValue is written as it
-- is, and stands at MinValue-1. A gap ends at MaxValue.
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT, HILO_EXHAUSTED above MaxValue; nothing is written.
--
-- Lease, Origin and Bare are treated as in seed.lua. Another server's Origin is not taken over, because this server's
-- replication id differs, which would be evidence of lost writes. So if the source may have lost writes, Epoch grows by one
-- and the gap of a jump is added here, to the value and to Bare, because lost numbers may have been issued without prefix
-- and tag. If this server may have lost writes, Origin stays as the evidence, and Bare is raised by the gap.
--
-- Lowered is compared with what clients of the source saw, who keep their floor. The forced seeds of this server, before it
-- was the source's successor, lowered none of their values, so a count of them would only make it ignore that floor. Of two
-- values of Forced the newer one stays, because only a seed that was sent lately may be sent again.
--
-- Sent twice: the second time raises nothing more.

local field, wanted, name, epoch, ranges, bare_max, top, lost, issued, lowered, source_written, forced = unpack(ARGV)

local valid = #ARGV == 12 and (field == 'Max' or field == 'Value')
for _, value in ipairs({wanted, epoch, ranges, bare_max, top, issued, lowered, source_written}) do
  valid = valid and decimal(value)
end
if not valid then
  return redis.error_reply('HILO_ARGUMENT import wants 12 arguments, Max or Value, and decimals from 0 to ' .. LARGEST)
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local refused = beyond(wanted)
if refused then return refused end

local names = {field, 'Epoch', 'Ranges', 'Bare', 'Top', 'Lowered', 'Issued', 'Written', 'IssuedBefore', 'Name', 'Origin', 'Forced'}
local state, err = fields(key, unpack(names))
if err then return err end
for i = 1, 9 do
  if state[i] and not decimal(state[i]) then
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', state[i], DECIMAL)
  end
end
local stood, own_issued, before, own_before = state[1], state[7], state[8] or '0', state[9]
local stored_name, origin = state[10], state[11] or ''
if above(source_written, before) then before = source_written end
local stands = stood or '0'

if lost == '1' then
  if field == 'Max' then
    if above(wanted, bare_max) then bare_max = wanted end
    bare_max = past(bare_max, RANGE_GAP, issued)
  end
  wanted = past(wanted, field == 'Max' and RANGE_GAP or IDENTITY_GAP, issued)
  if above(wanted, max_value) then wanted = max_value end
  epoch = plus(epoch, '1')
end
if above(wanted, stands) then stands = wanted end
if field == 'Max' and bare and other_key ~= server_key then
  local bare_to, lost_here = stands
  lost_here, durable = lost_since(origin, replication, info, durable)
  local tally = plus(above(issued, own_issued or '0') and issued or own_issued or '0', own_before or '0') -- with what is written below
  if lost_here then bare_to = past(stands, RANGE_GAP, tally) end
  if above(bare_to, bare_max) then bare_max = bare_to end
end
local write = {'HSET', key, field, stands, 'Name', stored_name or name, 'Written', (write_time(before))}
for i, value in ipairs({epoch, ranges, bare_max, top, lowered, issued}) do
  local own = state[i + 1] or '0'
  if above(value, own) or names[i + 1] == 'Lowered' and source_written ~= '0' and value ~= own then
    write[#write + 1] = names[i + 1]
    write[#write + 1] = value
  end
end
if origin == '' and replication ~= '' then
  write[#write + 1] = 'Origin'
  write[#write + 1] = replication
end
local function time(text) return string.match(text, ' (%d+)$') or '' end -- of the state that a forced seed found
if forced ~= '' and (not state[12] or above(time(forced), time(state[12]))) then
  write[#write + 1] = 'Forced'
  write[#write + 1] = forced
end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
if durable ~= '' and durable ~= 'always' then redis.call('HDEL', server_key, 'Durable') end
redis.call(unpack(write))
return {standing(stands), stood or ''}
