-- seed.lua: raises a counter to a value.
--
-- KEYS[1] -> {ns}/HiLo/<collection> or {ns}/Identities/<name>  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo                          the server's prefix and node tag
-- KEYS[3] -> the key of the same name and the other kind, only looked for
-- ARGV[1] -> the field that counts: 'Max' or 'Value'
-- ARGV[2] -> value to raise it to
-- ARGV[3] -> '1': set it, also where that lowers it
-- ARGV[4] -> the name as the caller spells it
--
-- Output: {value that stands now, value that stood before, '' where there was none}
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- The lease goes even where nothing is raised: a range still out must not bring the counter below
-- the seed when it is returned. Origin stays: a seed proves nothing about lost writes.
-- An identity that is lowered by force counts that in Lowered, so that clients that were given more
-- see that it is meant and no lost write.
-- Sent twice: the second time changes nothing more, unless forced and a range was taken in between.

local field, wanted, force, name = ARGV[1], ARGV[2], ARGV[3] == '1', ARGV[4]

if not decimal(wanted) or (field ~= 'Max' and field ~= 'Value') then
  return redis.error_reply('HILO_ARGUMENT seed wants Max or Value, and a decimal from 0 to ' .. LARGEST)
end

local state, err = fields(key, field, 'Name', 'Lowered')
if err then return err end
local stood, lowered = state[1] or '0', state[3] or '0'
if not decimal(stood) then return refusal('CORRUPT', key, 'field ' .. field .. ' holds', stood, DECIMAL) end
if not decimal(lowered) then return refusal('CORRUPT', key, 'field Lowered holds', lowered, DECIMAL) end

local stands = stood
if force or not state[1] or above(wanted, stood) then stands = wanted end
local write = {'HSET', key, field, stands, 'Name', state[2] or name}
if field == 'Value' and above(stood, stands) then
  write[#write + 1] = 'Lowered'
  write[#write + 1] = lesser(plus(lowered, '1'), LARGEST)
end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call(unpack(write))
return {stands, state[1] or ''}
