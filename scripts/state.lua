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
