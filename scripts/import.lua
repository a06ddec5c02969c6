-- import.lua: raises a counter of any kind to what another server, or another program, knows of it.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo                                           the server's prefix and node tag
-- KEYS[3] -> the key of the same name and the other kind, only looked for; KEYS[2] again where there is
--            none to look for
-- ARGV[1] -> the field that counts: 'Max' or 'Value'
-- ARGV[2] -> value to raise it to
-- ARGV[3] -> the name as the caller spells it
-- ARGV[4] -> epoch to raise it to
-- ARGV[5] -> ranges, how many to raise the count of ranges to
--
-- Output: {value that stands now, value that stood before, '' where there was none}
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- Lease and Origin as in seed.lua. Another server's Origin is not taken over: this server's
-- replication id is another one, which would read as lost writes.
-- Sent twice: the second time raises nothing more.

local field, wanted, name, epoch, ranges = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if not (decimal(wanted) and decimal(epoch) and decimal(ranges)) or (field ~= 'Max' and field ~= 'Value') then
  return redis.error_reply('HILO_ARGUMENT import wants Max or Value, and value, epoch and ranges as decimals from 0 to ' .. LARGEST)
end

local names = {field, 'Epoch', 'Ranges'}
local state, err = fields(key, field, 'Epoch', 'Ranges', 'Name')
if err then return err end
for i, part in ipairs(names) do
  if state[i] and not decimal(state[i]) then
    return refusal('CORRUPT', key, 'field ' .. part .. ' holds', state[i], DECIMAL)
  end
end

local stands = state[1] or '0'
if above(wanted, stands) then stands = wanted end
local write = {'HSET', key, field, stands, 'Name', state[4] or name}
if above(epoch, state[2] or '0') then
  write[#write + 1] = 'Epoch'
  write[#write + 1] = epoch
end
if above(ranges, state[3] or '0') then
  write[#write + 1] = 'Ranges'
  write[#write + 1] = ranges
end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call(unpack(write))
return {stands, state[1] or ''}
