-- return.lua: gives back the unused end of a range.
--
-- KEYS[1] -> {ns}/HiLo/<collection>  the counter
-- ARGV[1] -> token of the range
-- ARGV[2] -> end, the last number of the range
-- ARGV[3] -> last, the last number used; the number before the range when none was
-- ARGV[4] -> epoch under which the range was given
-- ARGV[5] -> when the range was taken, as the reply says that gave it: its written
--
-- Output: {taken back, '1' or '0'; Max as it stands now, '' where there is none}
-- Errors: HILO_CORRUPT, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: the first time clears the lease, so the second time does nothing. The same holds for one
-- that comes late: whatever a script did to the counter since, it wrote it at another time, be it that
-- a late copy of the range's own request took another range, or that the counter was lost and begins
-- anew; and a server that may have lost writes shows another replication id. Max alone would not do:
-- somebody else can have brought it back to the same value. What it tells of is an edit by hand.
-- Bare stays: the same numbers may have been given bare once and, since a seed by force, with a prefix.

local key, token, range_end, last, epoch, written = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]

if not (decimal(range_end) and decimal(last) and decimal(written)) or token == '' then
  return redis.error_reply('HILO_ARGUMENT return wants a token, and end, last and time as decimals')
end

local state, err = fields(key, 'Max', 'Lease', 'Origin', 'Epoch', 'Written')
if err then return err end
local max, lease, origin = state[1], state[2], state[3] or ''
if max ~= range_end or lease ~= token or above(last, range_end) or
    (state[4] or '0') ~= epoch or (state[5] or '0') ~= written or origin ~= replication_id() then
  return {'0', max or ''}
end

redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call('HSET', key, 'Max', last, 'Written', (write_time(written)))
return {'1', last}
