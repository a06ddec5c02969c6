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
