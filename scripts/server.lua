-- server.lua: reads the server's settings at the start of every script that issues or seeds. It ends the script with an error
-- reply if they are unusable, or if a name would be used for both kinds.
--
-- KEYS[1] -> the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3] -> the key of the same name and the other kind; KEYS[2] again if there is none
--
-- Leaves key, server_key, other_key, prefix, tag, home (Identities is 'here'), durable ('everysec', 'always' or ''), min_value,
-- max_value, interval (they are not 1 and 2^63-1) and bare (identifiers have neither prefix nor tag). The loader defines HOME,
-- which is true if Identities is read.

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
if durable ~= '' and durable ~= 'everysec' and durable ~= 'always' then
  if not find(durable, '^replicas:') then -- of hilo 0.1
    return refusal('CORRUPT', server_key, 'field Durable holds', durable, 'must be everysec, always, or absent')
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
