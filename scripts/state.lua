-- state.lua: reading what is stored, put in front of every script after decimal.lua.
-- A reader hands back either what it read or an error to return as it is; nothing is written here.

local function printable(text)
  return (string.gsub(string.sub(text, 1, 40), '%c', '?'))
end

local function corrupt(key, field, value, rule)
  return redis.error_reply('HILO_CORRUPT key ' .. printable(key) .. ' field ' .. field ..
    ' holds "' .. printable(value) .. '": ' .. rule)
end

-- Fields of a hash, in the order asked for: text, or false for an absent one.
local function fields(key, ...)
  local read = redis.pcall('HMGET', key, ...)
  if read.err then
    if string.find(read.err, 'WRONGTYPE', 1, true) then
      return nil, redis.error_reply('HILO_CORRUPT key ' .. printable(key) .. ' is not a hash')
    end
    return nil, read
  end
  return read
end

-- A stored number, or zero for an absent one.
local function number(key, field, text)
  if not text then return ZERO end
  local value = decimal(text)
  if not value then
    return nil, corrupt(key, field, text, 'must be a decimal from 0 to ' .. LARGEST .. ' without sign or leading zeros')
  end
  return value
end

-- What this server puts into each identifier. The whole rule, with Unicode, is checked by
-- the client; this much keeps an unusable prefix from costing a range.
local function server_prefix(key)
  local read, err = fields(key, 'ServerPrefix', 'NodeTag')
  if err then return nil, err end
  local prefix, tag = read[1] or '', read[2] or ''
  if #prefix > 64 or string.find(prefix, '[|{}%s%c]') or string.find(prefix, '%d$') then
    return nil, corrupt(key, 'ServerPrefix', prefix,
      'must be 0 to 64 bytes without "|", braces, white space or controls, and not end in a digit')
  end
  if tag ~= '' and (#tag > 8 or not string.find(tag, '^[A-Za-z][A-Za-z0-9]*$')) then
    return nil, corrupt(key, 'NodeTag', tag, 'must be 1 to 8 of A-Z a-z 0-9, first a letter')
  end
  return {prefix = prefix, tag = tag}
end

-- An identity and a number without prefix and tag would be the same text, so where the
-- server adds nothing, a name is either a collection or an identity.
local function mixed(server, key, other)
  if server.prefix == '' and server.tag == '' and redis.call('EXISTS', other) == 1 then
    return redis.error_reply('HILO_MIXED key ' .. printable(key) .. ' may not be used while ' .. printable(other) ..
      ' exists: without a server prefix or node tag both give the same identifiers')
  end
end

-- The replication id of this server: it changes when a server restarts and when a replica is
-- promoted. '' where INFO is not permitted.
local function replication_id()
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then return '' end
  return string.match(info, 'master_replid:(%x+)') or ''
end
