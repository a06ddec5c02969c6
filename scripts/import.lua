-- import.lua: raises a counter of any kind to what another server, or another program, knows of it.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo                                           the server's prefix and node tag
-- KEYS[3] -> the key of the same name and the other kind, only looked for; KEYS[2] again where there is
--            none to look for, or the server is about to get a prefix: then nothing is taken for given bare
-- ARGV[1] -> the field that counts: 'Max' or 'Value'
-- ARGV[2] -> value to raise it to
-- ARGV[3] -> the name as the caller spells it
-- ARGV[4] -> epoch to raise it to
-- ARGV[5] -> ranges, how many to raise the count of ranges to
-- ARGV[6] -> greatest number given without prefix and tag, to raise Bare to; 0: none, as always of an identity
--
-- Output: {value that stands now, value that stood before, '' where there was none}
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- Lease, Origin and Bare as in seed.lua; but where Origin is another server's, Bare is raised past what
-- may have been given since it wrote. Another server's Origin is not taken over: this server's
-- replication id is another one, which would read as lost writes.
-- Sent twice: the second time raises nothing more.

local field, wanted, name, epoch, ranges, given_bare = unpack(ARGV, 1, 6)

if not (decimal(wanted) and decimal(epoch) and decimal(ranges) and decimal(given_bare)) or (field ~= 'Max' and field ~= 'Value') then
  return redis.error_reply('HILO_ARGUMENT import wants Max or Value, and value, epoch, ranges and bare as decimals from 0 to ' .. LARGEST)
end

local names = {field, 'Epoch', 'Ranges', 'Bare', 'Written', 'Issued', 'IssuedBefore'}
local state, err = fields(key, field, 'Epoch', 'Ranges', 'Bare', 'Written', 'Issued', 'IssuedBefore', 'Name', 'Origin')
if err then return err end
for i, part in ipairs(names) do
  if state[i] and not decimal(state[i]) then
    return refusal('CORRUPT', key, 'field ' .. part .. ' holds', state[i], DECIMAL)
  end
end

local stands = state[1] or '0'
if above(wanted, stands) then stands = wanted end
local replication, origin = replication_id(), state[9] or ''
if bare and field == 'Max' and other_key ~= server_key then
  local given = stands
  if origin ~= '' and origin ~= replication then
    -- Writes may be lost since, and the numbers of those were bare too: a gap as in counter.lua, by which
    -- Max is going to jump when it is known whether anybody wants more.
    local lately = plus(state[6] or '0', state[7] or '0')
    local gap = plus(lately, lately)
    if above(smallest_gap, gap) then gap = smallest_gap end
    given = lesser(plus(stands, gap), LARGEST)
  end
  if above(given, given_bare) then given_bare = given end
end
local write = {'HSET', key, field, stands, 'Name', state[8] or name, 'Written', (write_time(state[5] or '0'))}
for i, value in ipairs({epoch, ranges, given_bare}) do
  if above(value, state[i + 1] or '0') then
    write[#write + 1] = names[i + 1]
    write[#write + 1] = value
  end
end
if origin == '' and replication ~= '' then
  write[#write + 1] = 'Origin'
  write[#write + 1] = replication
end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call(unpack(write))
return {stands, state[1] or ''}
