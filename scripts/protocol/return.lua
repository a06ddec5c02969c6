-- decimal.lua: exact arithmetic over all of int64, put in front of every script.
--
-- Lua numbers are doubles, exact only up to 2^53, so a value stays the canonical decimal text that it
-- is stored and sent as. It is compared by length, then as text; sums are made of doubles where both
-- are short, and else of two halves, high * 10^9 + low, which stay far below 2^53. '%.0f' writes a whole
-- double: tostring() turns to exponents on Redis, and '%d' is a C long, which ends at 2^31 on a server of 32 bits.

local find, sub, format = string.find, string.sub, string.format

local LARGEST = '9223372036854775807'

-- Whether this is a canonical decimal between 0 and 2^63-1.
local function decimal(text)
  return text == '0' or text and find(text, '^[1-9]%d*$') and (#text < 19 or #text == 19 and text <= LARGEST)
end

local function above(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

local function lesser(a, b)
  if above(a, b) then return b end
  return a
end

-- a + sign * b, which must not be below 0.
local function sum(a, b, sign)
  if #a < 16 and #b < 16 then return format('%.0f', a + sign * b) end
  local high = (tonumber(sub(a, 1, -10)) or 0) + sign * (tonumber(sub(b, 1, -10)) or 0)
  local low = tonumber(sub(a, -9)) + sign * tonumber(sub(b, -9))
  if low >= 1000000000 then high, low = high + 1, low - 1000000000 end
  if low < 0 then high, low = high - 1, low + 1000000000 end
  if high == 0 then return format('%.0f', low) end
  return format('%.0f%09.0f', high, low)
end

-- Most of what there is to add is short, and '%d' takes half the time of '%.0f'.
local function plus(a, b)
  if #a < 10 and #b < 10 then return format('%d', a + b) end -- below 2^31
  return sum(a, b, 1)
end
-- state.lua: reading what is stored, and when it is written; put in front of every script after decimal.lua.

local DECIMAL = 'must be a decimal from 0 to 9223372036854775807 without sign or leading zeros'

-- An error with its tag about a key, and maybe about a value found there and the rule that it breaks.
local function refusal(tag, key, text, value, rule)
  local function printable(part) return (string.gsub(sub(part, 1, 40), '%c', '?')) end
  text = 'HILO_' .. tag .. ' key ' .. printable(key) .. ' ' .. text
  if value then text = text .. ' "' .. printable(value) .. '": ' .. rule end
  return redis.error_reply(text)
end

-- Fields of a hash, in the order asked for: text, or false for an absent one. Or an error to return as it is.
local function fields(key, ...)
  local read = redis.pcall('HMGET', key, ...)
  if read.err then
    if find(read.err, 'WRONGTYPE', 1, true) then return nil, refusal('CORRUPT', key, 'is not a hash') end
    return nil, read
  end
  return read
end

-- When a counter is written, and the seconds of the server's clock: its microseconds, or one more than
-- when the counter was last written, where the clock went back. So no two writes of a counter have the
-- same time, nor has one that was lost and begins anew any of those that it had: it begins later.
local function write_time(last)
  local now = redis.call('TIME')
  local written = format('%.0f', now[1] * 1000000 + now[2]) -- exact up to the year 2255
  if not above(written, last) then written = lesser(plus(last, '1'), LARGEST) end
  return written, now[1]
end

-- The replication id of this server: it changes when a server restarts and when a replica is
-- promoted. '' where INFO is not permitted. A replica shows that of its primary, which gives the same numbers:
-- one that takes writes, by replica-read-only no, is refused as others are, but where it is only asked.
local function replication_id(asked)
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then return '' end
  if not asked and find(sub(info, 1, 40), 'role:slave', 1, true) then
    error({err = 'READONLY numbers are not given by a replica, also where it takes writes'})
  end
  local _, label = find(info, 'master_replid:', 1, true) -- a pattern would take seven times as long
  return label and string.match(info, '^%x+', label + 1) or ''
end
-- return.lua: gives back the unused end of a range.
--
-- KEYS[1] -> {ns}/HiLo/<collection>  the counter
-- ARGV[1] -> token of the range
-- ARGV[2] -> end, the last number of the range
-- ARGV[3] -> last, the last number used; the number before the range when none was
-- ARGV[4] -> epoch under which the range was given
-- ARGV[5] -> when the range was taken, as the reply says that gave it: its written
--
-- Output: {taken back, '1' or '0'; Max as it stands now, '' where there is none}
-- Errors: HILO_CORRUPT, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: the first time clears the lease, so the second time does nothing. The same holds for one
-- that comes late: whatever a script did to the counter since, it wrote it at another time, be it that
-- a late copy of the range's own request took another range, or that the counter was lost and begins
-- anew; and a server that may have lost writes shows another replication id. Max alone would not do:
-- somebody else can have brought it back to the same value. What it tells of is an edit by hand.
-- Bare stays: the same numbers may have been given bare once and, since a seed by force, with a prefix.

local key, token, range_end, last, epoch, written = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if not (decimal(range_end) and decimal(last) and decimal(written)) or token == '' then
  return redis.error_reply('HILO_ARGUMENT return wants a token, and end, last and time as decimals')
end

local state, err = fields(key, 'Max', 'Lease', 'Origin', 'Epoch', 'Written')
if err then return err end
local max, lease, origin = state[1], state[2], state[3] or ''
if max ~= range_end or lease ~= token or above(last, range_end) or
    (state[4] or '0') ~= epoch or (state[5] or '0') ~= written or origin ~= replication_id() then
  return {'0', max or ''}
end

redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call('HSET', key, 'Max', last, 'Written', (write_time(written)))
return {'1', last}
