-- import.lua: raises a counter of any kind to its state on another server, or in another program.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3] -> the key of the same name and the other kind, whose existence is checked; KEYS[2] again if there is none, or
--            if the server is about to get a prefix, and then Bare is not raised to the value
-- ARGV[1] -> field that holds the number, 'Max' or 'Value'
-- ARGV[2] -> wanted: value to raise it to
-- ARGV[3] -> name, as the caller spells it
-- ARGV[4] -> epoch to raise Epoch to
-- ARGV[5] -> ranges to raise Ranges to
-- ARGV[6] -> bare_max: greatest number issued without prefix and tag, to raise Bare to; 0 for none, as for every
--            identity
-- ARGV[7] -> top: greatest High that a gateway issued, to raise Top to; 0 for none
-- ARGV[8] -> lost: '1' if the source may have lost writes since it wrote the counter
-- ARGV[9] -> issued: the source's tallies, Issued and IssuedBefore together, to raise Issued to
-- ARGV[10] -> lowered: the source's Lowered, which replaces Lowered, also by a smaller one, if written is not 0
-- ARGV[11] -> written: the source's Written, which is below the time of every later write here, 0 if it is unknown
-- ARGV[12] -> forced: the source's Forced, '' for none, which replaces an older one
--
-- Output: {value that stands now; value that stood before, '' if there was none}. A value below MinValue is written as it
-- is, and stands at MinValue-1. A gap ends at MaxValue.
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT, HILO_EXHAUSTED above MaxValue; nothing is written.
--
-- Lease, Origin and Bare are treated as in seed.lua. Another server's Origin is not taken over, because this server's
-- replication id differs, which would be evidence of lost writes. So if the source may have lost writes, Epoch grows by one
-- and the gap of a jump is added here, to the value and to Bare, because lost numbers may have been issued without prefix
-- and tag. If this server may have lost writes, Origin stays as the evidence, and Bare is raised by the gap.
--
-- Lowered is compared with what clients of the source saw, who keep their floor. The forced seeds of this server, before it
-- was the source's successor, lowered none of their values, so a count of them would only make it ignore that floor. Of two
-- values of Forced the newer one stays, because only a seed that was sent lately may be sent again.
--
-- Sent twice: the second time raises nothing more.

local field, wanted, name, epoch, ranges, bare_max, top, lost, issued, lowered, source_written, forced = unpack(ARGV)

local valid = #ARGV == 12 and (field == 'Max' or field == 'Value')
for _, value in ipairs({wanted, epoch, ranges, bare_max, top, issued, lowered, source_written}) do
  valid = valid and decimal(value)
end
if not valid then
  return redis.error_reply('HILO_ARGUMENT import wants 12 arguments, Max or Value, and decimals from 0 to ' .. LARGEST)
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local refused = beyond(wanted)
if refused then return refused end

local names = {field, 'Epoch', 'Ranges', 'Bare', 'Top', 'Lowered', 'Issued', 'Written', 'IssuedBefore', 'Name', 'Origin', 'Forced'}
local state, err = fields(key, unpack(names))
if err then return err end
for i = 1, 9 do
  if state[i] and not decimal(state[i]) then
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', state[i], DECIMAL)
  end
end
local stood, own_issued, before, own_before = state[1], state[7], state[8] or '0', state[9]
local stored_name, origin = state[10], state[11] or ''
if above(source_written, before) then before = source_written end
local stands = stood or '0'

if lost == '1' then
  if field == 'Max' then
    if above(wanted, bare_max) then bare_max = wanted end
    bare_max = past(bare_max, RANGE_GAP, issued)
  end
  wanted = past(wanted, field == 'Max' and RANGE_GAP or IDENTITY_GAP, issued)
  if above(wanted, max_value) then wanted = max_value end
  epoch = plus(epoch, '1')
end
if above(wanted, stands) then stands = wanted end
if field == 'Max' and bare and other_key ~= server_key then
  local bare_to, lost_here = stands
  lost_here, durable = lost_since(origin, replication, info, durable)
  local tally = plus(above(issued, own_issued or '0') and issued or own_issued or '0', own_before or '0') -- with what is written below
  if lost_here then bare_to = past(stands, RANGE_GAP, tally) end
  if above(bare_to, bare_max) then bare_max = bare_to end
end
local write = {'HSET', key, field, stands, 'Name', stored_name or name, 'Written', (write_time(before))}
for i, value in ipairs({epoch, ranges, bare_max, top, lowered, issued}) do
  local own = state[i + 1] or '0'
  if above(value, own) or names[i + 1] == 'Lowered' and source_written ~= '0' and value ~= own then
    write[#write + 1] = names[i + 1]
    write[#write + 1] = value
  end
end
if origin == '' and replication ~= '' then
  write[#write + 1] = 'Origin'
  write[#write + 1] = replication
end
local function time(text) return string.match(text, ' (%d+)$') or '' end -- of the state that a forced seed found
if forced ~= '' and (not state[12] or above(time(forced), time(state[12]))) then
  write[#write + 1] = 'Forced'
  write[#write + 1] = forced
end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
if durable ~= '' and durable ~= 'always' then redis.call('HDEL', server_key, 'Durable') end
redis.call(unpack(write))
return {standing(stands), stood or ''}
