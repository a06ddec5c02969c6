-- seed.lua: raises a counter to a value.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo                                           the server's prefix and node tag
-- KEYS[3] -> the key of the same name and the other kind, only looked for; KEYS[2] again where there is none
-- ARGV[1] -> the field that counts: 'Max' or 'Value'
-- ARGV[2] -> value to raise it to
-- ARGV[3] -> the name as the caller spells it
-- ARGV[4] -> '1': set it, also where that lowers it, if what stands is what the next two say
-- ARGV[5] -> expected in the field that counts, '' for none; unused without force, as is the next
-- ARGV[6] -> expected in Written, '' for none
--
-- Output: {value that stands now, value that stood before, '' where there was none; '1', or '0' where another
-- value than the one wanted by force stands, because something else was there than expected}
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- The lease goes even where nothing is raised: a range still out must not bring the counter below
-- the seed when it is returned. An Origin stays: a seed proves nothing about lost writes. Where there is
-- none it is written, so that a loss right after the seed shows.
-- Each lowering by force is counted in Lowered, by which clients that were given more of an identity see that
-- it is meant and no lost write.
-- Sent twice: the second time changes nothing more. By force it finds what it wanted, or, when somebody was
-- given numbers or set the counter in between, not what it expected: a value that comes again was written later.

local field, wanted, name, force = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'

if not decimal(wanted) or (field ~= 'Max' and field ~= 'Value') then
  return redis.error_reply('HILO_ARGUMENT seed wants Max or Value, and a decimal from 0 to ' .. LARGEST)
end

local state, err = fields(key, field, 'Written', 'Lowered', 'Name', 'Origin', 'Bare')
if err then return err end
for i, part in pairs({field, 'Written', 'Lowered', [6] = 'Bare'}) do
  if state[i] and not decimal(state[i]) then return refusal('CORRUPT', key, 'field ' .. part .. ' holds', state[i], DECIMAL) end
end
local stood = state[1] or ''
if force and stood ~= wanted and
    (stood ~= ARGV[5] or (state[2] or '') ~= ARGV[6]) then
  return {stood, stood, '0'}
end

local stands = stood
if force or above(wanted, stood) then stands = wanted end -- every decimal is above ''
local write = {'HSET', key, field, stands, 'Name', state[4] or name, 'Written', (write_time(state[2] or '0'))}
local function set(part, value)
  write[#write + 1] = part
  write[#write + 1] = value
end
if above(stood, stands) then
  set('Lowered', lesser(plus(state[3] or '0', '1'), LARGEST))
end
local replication = replication_id()
if not state[5] and replication ~= '' then set('Origin', replication) end
if bare and field == 'Max' and above(stands, state[6] or '0') then set('Bare', stands) end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call(unpack(write))
return {stands, stood, '1'}
