-- seed.lua: raises a counter to a value.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3] -> the key of the same name and the other kind, whose existence is checked; KEYS[2] again if there is none
-- ARGV[1] -> field that holds the number, 'Max' or 'Value'
-- ARGV[2] -> wanted: value to raise it to
-- ARGV[3] -> name, as the caller spells it
-- ARGV[4] -> force: '1' sets it, also lower, if the next two are the stored values
-- ARGV[5] -> expected_value: of the field, '' for none; unused without force, like the next
-- ARGV[6] -> expected_written: of the field Written, '' for none
--
-- Output: {value that stands now; value that stood before, '' if there was none; '1', or '0' if a forced seed found
-- another state than expected and did nothing}. A value below MinValue is written as it is, and stands at MinValue-1.
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT, HILO_EXHAUSTED above MaxValue; nothing is written.
--
-- The lease is cleared even if nothing is raised, because a range in use must not bring the counter below the seed when it
-- is returned. An Origin stays, because a seed proves nothing about lost writes. If there is none it is written, so that a
-- loss right after the seed shows. Lowered counts each lowering by force, which shows to clients that were issued greater
-- values of an identity that no write was lost. If writes may have been lost, such a seed also raises Bare by a gap,
-- because once Max is lower, nothing else shows how far numbers were issued without prefix and tag.
--
-- Sent twice: the second time changes nothing more. A forced one finds the value that it wanted or, if numbers were issued
-- or the counter was set in between, another state than it expected, because the same value was then written later.

local field, wanted, name, force, expected_value, expected_written = unpack(ARGV)

if #ARGV ~= 6 or not decimal(wanted) or (field ~= 'Max' and field ~= 'Value') then
  return redis.error_reply('HILO_ARGUMENT seed wants 6 arguments, Max or Value, and a decimal from 0 to ' .. LARGEST)
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local refused = beyond(wanted)
if refused then return refused end

local names = {field, 'Written', 'Lowered', 'Bare', 'Issued', 'IssuedBefore', 'Name', 'Origin'}
local state, err = fields(key, unpack(names))
if err then return err end
for i = 1, 6 do
  if state[i] and not decimal(state[i]) then return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', state[i], DECIMAL) end
end
local stood, written, lowered, bare_max, issued, issued_before = unpack(state, 1, 6)
local stored_name, origin = state[7], state[8]
stood, written = stood or '', written or ''
if force == '1' and stood ~= wanted and (stood ~= expected_value or written ~= expected_written) then
  return {stood, stood, '0'}
end

local stands = stood
if force == '1' or above(wanted, stood) then stands = wanted end -- every decimal is above ''
local write = {'HSET', key, field, stands, 'Name', stored_name or name, 'Written', (write_time(written == '' and '0' or written))}
local function set(part, value)
  write[#write + 1] = part
  write[#write + 1] = value
end
local bare_to = bare and stands or '0'
if above(stood, stands) then
  set('Lowered', plus(lowered or '0', '1'))
  local lost
  lost, durable = lost_since(origin or '', replication, info, durable)
  if lost then bare_to = past(stood, RANGE_GAP, plus(issued or '0', issued_before or '0')) end
end
if not origin and replication ~= '' then set('Origin', replication) end
if field == 'Max' and above(bare_to, bare_max or '0') then set('Bare', bare_to) end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
if durable ~= '' and durable ~= 'always' then redis.call('HDEL', server_key, 'Durable') end
redis.call(unpack(write))
return {standing(stands), stood, '1'}
