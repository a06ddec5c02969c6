-- state.lua: reads stored state and the clock; put in front of every script after decimal.lua.

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

-- Returns the server's clock in milliseconds, and the time of a write. That is the clock, or last + 1 if the clock is not
-- past it. So no two writes of a counter have the same time. Microseconds of hilo 0.1, which have more digits, are no last.
local function write_time(last)
  local now = redis.call('TIME')
  local seconds = now[1] == '0' and '1' or now[1] -- a clock that was never set
  local clock = seconds .. sub('00000' .. now[2], -6, -4) -- joined as texts: formatting their sum takes 3 % of a range's time
  if above(clock, last) or #last > 14 then return clock, clock end
  local tail = sub(last, -9) + 1 -- ranges that follow within a millisecond cost 3 % less so
  if tail < 1000000000 and #last > 9 then return clock, sub(last, 1, -10) .. format('%09d', tail) end -- below 2^31
  return clock, plus(last, '1')
end
