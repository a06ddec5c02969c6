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
-- check.lua: reports whether the next request for a counter would be refused.
--
-- KEYS[1], KEYS[2], KEYS[3] -> of next, or {ns}/ServerPrefixForHilo three times for no counter
-- ARGV[1] -> limit: greatest number that may ever be issued
-- ARGV[2] -> require_seeded: '1' makes a missing counter an error
-- ARGV[3] -> max_lag: seconds since a replica has last reported to this server, above which it does not count
--
-- Output: {replicas}, the number of replicas that follow, '' if INFO is not permitted
-- Errors: HILO_ARGUMENT, HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_MIXED, HILO_UNGUARDED, and READONLY of a replica.
--
-- It writes nothing. Sent with a first line "#!lua", which declares no flags, it is refused by the server as a write would
-- be (READONLY, NOREPLICAS, OOM, MISCONF), before it runs. A jump for which there is no room, and what a client knows of the
-- counter, are not foreseen. Sent twice: it replies twice.

local limit, require_seeded, max_lag = unpack(ARGV)
if #ARGV ~= 3 or not (decimal(limit) and decimal(max_lag)) then return redis.error_reply('HILO_ARGUMENT want 3 arguments with decimals') end
if is_replica then return redis.error_reply(ON_REPLICA) end

if key ~= server_key then
  local names = {'Max', 'Low', 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written', 'Top', 'Lease', 'Origin'}
  local read, err = fields(key, unpack(names))
  if err then return err end
  local max = read[1]
  for i = 1, #names do
    if read[i] and read[i] ~= '' and not max then
      return refusal('CORRUPT', key, 'has no Max, yet numbers were issued; seed it above all that was issued')
    elseif read[i] and i <= 10 and not decimal(read[i]) then
      return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', read[i], DECIMAL)
    end
  end
  if not max and require_seeded == '1' then
    return refusal('NOTSEEDED', key, 'does not exist and RequireSeeded is set; seed it above all that was issued')
  end
  if read[12] and read[12] ~= '' and replication == '' then
    return refusal('UNGUARDED', key, 'has an Origin to compare with INFO; permit +info, or remove the field Origin if no user may call INFO')
  end
  local start, limit_name = sum(min_value, '1', -1), 'the limit'
  if not max or above(start, max) then max = start end
  if not above(max_value, limit) then limit, limit_name = max_value, 'MaxValue of ' .. server_key end
  if not above(limit, max) then return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and ' .. limit_name .. ' is ' .. limit) end
end

if replication == '' then return {''} end
local count = 0
for lag in string.gmatch(info, 'slave%d+:[^\r]*state=online[^\r]*lag=(%d+)') do
  if not above(lag, max_lag) then count = count + 1 end
end
return {format('%d', count)} -- below 2^31
