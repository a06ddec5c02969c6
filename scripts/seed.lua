-- seed.lua: raises a counter to a value.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3] -> the key of the same name and the other kind, whose existence is checked; KEYS[2] again if there is none
-- ARGV[1] -> field that holds the number, 'Max' or 'Value'
-- ARGV[2] -> wanted: value to raise it to
-- ARGV[3] -> name, as the caller spells it
-- ARGV[4] -> force: '1' sets it, also lower, if the next two are the stored values, or if there is a token
-- ARGV[5] -> expected_value: of the field, '' for none; unused without force, like the next two
-- ARGV[6] -> expected_written: of the field Written, '' for none
-- ARGV[7] -> forced: token of the seed, which takes effect once, or '' if the two before count
--
-- Output: {value that stands now; value that stood before, '' if there was none; '1', or '0' if a forced seed did nothing, since it
-- found another state than expected, or had taken effect before and the value has changed since}. A value below MinValue is written
-- as it is, and stands at MinValue-1.
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT, HILO_NOTSEEDED without settings, HILO_EXHAUSTED above MaxValue; nothing is
-- written.
--
-- The lease is cleared even if nothing is raised, because a range in use must not bring the counter below the seed when it
-- is returned. An Origin stays, because a seed proves nothing about lost writes. If there is none it is written, so that a
-- loss right after the seed shows. Lowered counts each lowering by force, which shows to clients that were issued greater
-- values of an identity that no write was lost. Numbers up to a seed are in use, without prefix and tag on a server that has
-- neither, so Bare is set there, and for a value that was set by hand.
--
-- Sent twice: the second time changes nothing more. A forced one finds the value that it wanted, its own token or, if numbers were
-- issued or the counter was set in between, another state than it expected, because the same value was then written later.

local field, wanted, name, force, expected_value, expected_written, forced = unpack(ARGV)

if #ARGV ~= 7 or not decimal(wanted) or (field ~= 'Max' and field ~= 'Value') then
  return redis.error_reply('HILO_ARGUMENT seed wants 7 arguments, Max or Value, and a decimal from 0 to ' .. LARGEST)
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local refused = beyond(wanted)
if refused then return refused end

local names = {field, 'Written', 'Lowered', 'Ranges', 'Bare', 'Name', 'Origin', 'Forced'}
local state, err = fields(key, unpack(names))
if err then return err end
for i = 1, 5 do
  if state[i] and not decimal(state[i]) then return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', state[i], DECIMAL) end
end
local stood, written, lowered, ranges, marked, stored_name, origin, forced_before = unpack(state, 1, 8)
stood = stood or ''
if force == '1' and forced ~= '' and forced == forced_before then
  return {standing(stood), stood, stood == wanted and '1' or '0'}
elseif force == '1' and forced == '' and stood ~= wanted and (stood ~= expected_value or (written or '') ~= expected_written) then
  return {stood, stood, '0'}
end

local stands = stood
if force == '1' or above(wanted, stood) then stands = wanted end -- every decimal is above ''
local write = {'HSET', key, field, stands, 'Name', stored_name or name, 'Written', (select(2, write_time(written or '0')))}
local function put(part, value) write[#write + 1], write[#write + 2] = part, value end
if above(stood, stands) then put('Lowered', plus(lowered or '0', '1')) end
if force == '1' and forced ~= '' then put('Forced', forced) end
if not origin and replication ~= '' then put('Origin', replication) end
local by_hand = stood ~= '' and stood ~= '0' and not ranges and not written
if field == 'Max' and (bare and stands ~= '0' or by_hand) and not marked then put('Bare', '1') end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call(unpack(write))
return {standing(stands), stood, '1'}
