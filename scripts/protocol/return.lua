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
-- return.lua: takes back the unused end of a range.
--
-- KEYS[1] -> {ns}/HiLo/<collection>  the counter
-- ARGV[1] -> token of the range
-- ARGV[2] -> range_end: the last number of the range
-- ARGV[3] -> last_used: the last number used, or the number before the range if none was
-- ARGV[4] -> range_epoch: epoch of the reply that issued the range
-- ARGV[5] -> range_written: written of that reply
--
-- Output: {'1' if the numbers were taken back, else '0'; Max as it stands now, '' if there is none}
-- Errors: HILO_CORRUPT, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: the first one clears the lease, so the second one does nothing. A late one does nothing either. Every script
-- that wrote to the counter since then wrote another time, also if a late copy of the range's own request took another
-- range, or if the counter was lost and began anew. A server that may have lost writes has another replication id. Max
-- alone is not enough, because another client may have brought it back to the same value. It shows an edit by hand. Bare
-- stays, because the same numbers may have been issued without a prefix once and, after a forced seed, with one.
--
-- Durable is not read. A range from before a restart is not taken back, which is a harmless gap.

local key = KEYS[1]
local token, range_end, last_used, range_epoch, range_written = unpack(ARGV)

if #ARGV ~= 5 or not (decimal(range_end) and decimal(last_used) and decimal(range_written)) or token == '' then
  return redis.error_reply('HILO_ARGUMENT return wants 5 arguments, a token, and end, last and written as decimals')
end
if is_replica then return redis.error_reply(ON_REPLICA) end

local state, err = fields(key, 'Max', 'Lease', 'Origin', 'Epoch', 'Written')
if err then return err end
local max, lease, origin, epoch, written = state[1] or '', state[2], state[3] or '', state[4] or '0', state[5] or '0'
if max ~= range_end or lease ~= token or above(last_used, range_end) or
    epoch ~= range_epoch or written ~= range_written or origin ~= replication then
  return {'0', max}
end

redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call('HSET', key, 'Max', last_used, 'Written', (write_time(written)))
return {'1', last_used}
