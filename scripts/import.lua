-- import.lua: raises a counter of any kind to its state on another server, or in another program.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3] -> the key of the same name and the other kind, whose existence is checked; KEYS[2] again if there is none
-- ARGV[1] -> field that holds the number, 'Max' or 'Value'
-- ARGV[2] -> wanted: value to raise it to
-- ARGV[3] -> name, as the caller spells it
-- ARGV[4] -> epoch to raise Epoch to
-- ARGV[5] -> ranges to raise Ranges to
-- ARGV[6] -> raised to raise Raised to
-- ARGV[7] -> block to raise Block to
-- ARGV[8] -> raised_at to raise RaisedAt to
-- ARGV[9] -> marked: '1' if the source issued numbers without prefix and tag, which sets Bare
-- ARGV[10] -> lowered: the source's Lowered, which replaces Lowered, also by a smaller one, if written is not 0
-- ARGV[11] -> written: the source's Written, which is below the time of every later write here, 0 if it is unknown
--
-- Output: {value that stands now; value that stood before, '' if there was none}. A value below MinValue is written as it
-- is, and stands at MinValue-1.
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT, HILO_NOTSEEDED without settings, HILO_EXHAUSTED above MaxValue; nothing is
-- written.
--
-- Lease, Origin and Bare are treated as in seed.lua. Another server's Origin is not taken over, because this server's
-- replication id differs, which would be evidence of lost writes. If the source may have lost writes, the caller adds the margin.
--
-- Lowered is compared with what clients of the source saw, who keep their floor. The forced seeds of this server, before it
-- was the source's successor, lowered none of their values, so a count of them would only make it ignore that floor.
--
-- Sent twice: the second time raises nothing more.

local field, wanted, name, epoch, ranges, raised, block, raised_at, marked, lowered, source_written = unpack(ARGV)

local valid = #ARGV == 11 and (field == 'Max' or field == 'Value')
for _, value in ipairs({wanted, epoch, ranges, raised, block, raised_at, marked, lowered, source_written}) do
  valid = valid and decimal(value)
end
if not valid then
  return redis.error_reply('HILO_ARGUMENT import wants 11 arguments, Max or Value, and decimals from 0 to ' .. LARGEST)
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local refused = beyond(wanted)
if refused then return refused end

local names = {field, 'Epoch', 'Ranges', 'Raised', 'Block', 'RaisedAt', 'Bare', 'Lowered', 'Written', 'Name', 'Origin'}
local state, err = fields(key, unpack(names))
if err then return err end
for i = 1, 9 do
  if state[i] and not decimal(state[i]) then
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', state[i], DECIMAL)
  end
end
local stood, written, stored_name, origin = state[1], state[9], state[10], state[11] or ''
local before = written or '0'
if above(source_written, before) and #source_written < 15 then before = source_written end
local stands = stood or '0'
if above(wanted, stands) then stands = wanted end
local by_hand = stood and stood ~= '0' and not state[3] and not written
if field ~= 'Max' then
  marked = '0'
elseif bare and stands ~= '0' or by_hand then
  marked = '1'
end

local write = {'HSET', key, field, stands, 'Name', stored_name or name, 'Written', (select(2, write_time(before)))}
for i, value in ipairs({epoch, ranges, raised, block, raised_at, marked, lowered}) do
  local own = state[i + 1] or '0'
  if above(value, own) or names[i + 1] == 'Lowered' and source_written ~= '0' and value ~= own then
    write[#write + 1], write[#write + 2] = names[i + 1], value
  end
end
if origin == '' and replication ~= '' then
  write[#write + 1], write[#write + 2] = 'Origin', replication
end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call(unpack(write))
return {standing(stands), stood or ''}
