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
-- configure.lua: sets all values of the server's own key at once.
--
-- KEYS[1] -> {ns}/ServerPrefixForHilo  the server's settings
-- ARGV[1] -> prefix, '' for none
-- ARGV[2] -> tag, '' for none
-- ARGV[3] -> home: 'here' if the server is the home of identities, '' if it is not
-- ARGV[4] -> durable: 'always' or 'replicas:N' sets Durable, '' removes it, 'keep' leaves it as it is
-- ARGV[5] -> expected_replication: replication id under which every counter was settled; used if Durable is set
-- ARGV[6] -> min_value, '' for none
-- ARGV[7] -> max_value, '' for none
--
-- Output: {'1'}
-- Errors: HILO_CORRUPT, HILO_CHANGED, HILO_ARGUMENT; nothing is written.
--
-- With Durable, an Origin other than the server's id is no evidence of lost writes, or of few, so no counter may have such
-- an Origin when it is set. The caller settles all counters first. It reads the replication id, and takes a number of each
-- counter with another Origin, which jumps. This script checks, in the same step as the write, that the server was not
-- restarted or promoted since, and that no replica is connected, or with replicas:N that N are.
--
-- DurableReplicas is the number of replicas that were connected when Durable was set to replicas:N. While fewer are, one of
-- them still has the word, so that the caller does not take it back.
--
-- Sent twice: the second time sets the same again.

local key = KEYS[1]
local prefix, tag, home, durable, expected_replication, min_value, max_value = unpack(ARGV)
local replicas = string.match(durable or '', '^replicas:([1-9]%d?%d?)$')

if #ARGV ~= 7 or (home ~= '' and home ~= 'here') or
    (durable ~= '' and durable ~= 'keep' and durable ~= 'always' and not replicas) then
  return redis.error_reply('HILO_ARGUMENT configure wants 7 arguments, here or nothing as home, and always, replicas:N, ' ..
    'keep or nothing as durable')
end
for _, value in ipairs({min_value, max_value}) do
  if value ~= '' and (value == '0' or not decimal(value)) then
    return redis.error_reply('HILO_ARGUMENT configure wants decimals of 1 or more, or nothing, as MinValue and MaxValue')
  end
end
if above(min_value == '' and '1' or min_value, max_value == '' and LARGEST or max_value) then
  return redis.error_reply('HILO_ARGUMENT configure wants a MinValue that is not above MaxValue')
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local _, err = fields(key, 'Durable')
if err then return err end
if durable == 'always' or replicas then
  if replication ~= expected_replication then
    return refusal('CHANGED', key, 'gets no Durable: the replication id is not the one under which the counters were settled',
      replication, 'must be ' .. expected_replication)
  end
  local connected = string.match(info, 'connected_slaves:(%d+)\r') or ''
  if replicas and (connected == '' or above(replicas, connected)) then
    return refusal('CHANGED', key, 'gets no Durable: the number of replicas that INFO replication shows is', connected,
      'must be ' .. replicas .. ' or more')
  end
  if not replicas and connected ~= '0' then
    return refusal('CHANGED', key, 'gets no Durable: a replica is connected, or INFO replication does not show that none is')
  end
end

local function set(name, value)
  redis.call('HSET', key, name, value) -- always, for a WAIT behind it, which covers this connection's writes
  if value == '' then redis.call('HDEL', key, name) end
end
if durable ~= 'keep' then
  set('Durable', durable)
  set('DurableReplicas', replicas and string.match(info, 'connected_slaves:(%d+)\r') or '')
end
set('MinValue', min_value)
set('MaxValue', max_value)
set('ServerPrefix', prefix)
set('NodeTag', tag)
set('Identities', home)
return {'1'}
