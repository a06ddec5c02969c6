-- return.lua: takes back the unused end of a range.
--
-- KEYS[1] -> {ns}/HiLo/<collection>  the counter
-- ARGV[1] -> token of the range
-- ARGV[2] -> range_end: the last number of the range
-- ARGV[3] -> last_used: the last number used, or the number before the range if none was
-- ARGV[4] -> range_epoch: epoch of the reply that issued the range
-- ARGV[5] -> range_written: written of that reply
--
-- Output: {'1' if the numbers were taken back, else '0'; Max as it stands now, '' if there is none}
-- Errors: HILO_CORRUPT, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: the first one clears the lease, so the second one does nothing. A late one does nothing either. Every script
-- that wrote to the counter since then wrote another time, also if a late copy of the range's own request took another
-- range, or if the counter was lost and began anew. A server that may have lost writes has another replication id. Max
-- alone is not enough, because another client may have brought it back to the same value. It shows an edit by hand. Raised
-- and Bare stay.
--
-- Durable is not read. A range from before a restart is not taken back, which is a harmless gap.

local key = KEYS[1]
local token, range_end, last_used, range_epoch, range_written = unpack(ARGV)

if #ARGV ~= 5 or not (decimal(range_end) and decimal(last_used) and decimal(range_written)) or token == '' then
  return redis.error_reply('HILO_ARGUMENT return wants 5 arguments, a token, and end, last and written as decimals')
end
if is_replica then return redis.error_reply(ON_REPLICA) end

local state, err = fields(key, 'Max', 'Lease', 'Origin', 'Epoch', 'Written')
if err then return err end
local max, lease, origin, epoch, written = state[1] or '', state[2], state[3] or '', state[4] or '0', state[5] or '0'
if max ~= range_end or lease ~= token or above(last_used, range_end) or
    epoch ~= range_epoch or written ~= range_written or origin ~= replication then
  return {'0', max}
end

redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call('HSET', key, 'Max', last_used, 'Written', (select(2, write_time(written))))
return {'1', last_used}
