-- server.lua: what the server says of itself, read at the start of every script that gives out or seeds.
-- It ends the script with an error where that is unusable, or a name is used both ways.
--
-- KEYS[1] -> the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's prefix and node tag
-- KEYS[3] -> the key of the same name and the other kind, only looked for; KEYS[2] again where there is none
--
-- Leaves key, prefix, tag, and bare: whether identifiers have neither prefix nor tag.

local key, server_key, other_key = KEYS[1], KEYS[2], KEYS[3]

local server, server_err = fields(server_key, 'ServerPrefix', 'NodeTag')
if server_err then return server_err end

-- The whole rule, with Unicode, is checked by the client; this much keeps an unusable prefix from
-- costing a range.
local prefix, tag = server[1] or '', server[2] or ''
if prefix ~= '' and (#prefix > 64 or not find(prefix, '^[^|{}%s%c]*[^|{}%s%c%d]$')) then
  return refusal('CORRUPT', server_key, 'field ServerPrefix holds', prefix,
    'must be 0 to 64 bytes without "|", braces, white space or controls, and not end in a digit')
end
if tag ~= '' and (#tag > 8 or not find(tag, '^[A-Za-z][A-Za-z0-9]*$')) then
  return refusal('CORRUPT', server_key, 'field NodeTag holds', tag, 'must be 1 to 8 of A-Z a-z 0-9, first a letter')
end
local bare = prefix == '' and tag == ''

-- An identity and a number without prefix and tag would be the same text, so where the server adds
-- nothing, a name is either a collection or an identity.
if bare and other_key ~= server_key and redis.call('EXISTS', other_key) == 1 then
  return refusal('MIXED', key, 'may not be used while the key of the same name and the other kind exists:', other_key,
    'without a server prefix or node tag both give the same identifiers')
end
