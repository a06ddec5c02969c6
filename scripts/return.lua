-- return.lua: gives back the unused end of a range.
--
-- KEYS[1] -> {ns}/HiLo/<collection>  the counter
-- ARGV[1] -> token of the range
-- ARGV[2] -> end, the last number of the range
-- ARGV[3] -> last, the last number used; the number before the range when none was
-- ARGV[4] -> epoch under which the range was given
--
-- Output: {taken back, '1' or '0'; Max as it stands now, '' where there is none}
-- Errors: HILO_CORRUPT, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: the first time clears the lease, so the second time does nothing. One that comes late takes
-- back what nobody has, whatever happened to the counter since: Lease says that the newest range was
-- given for this token, Max where it ends, and From where the run begins that this client took without
-- anybody else, a seed or an edit in between, so all above last was given to this client, which uses none
-- of it. Where a late copy of the range's own request took it again, it was for nobody. Max alone would
-- not do: somebody else can have brought it back to the same value; nor would a count of ranges, which
-- begins anew when the counter is lost. Origin and Epoch tell of writes that a server may have lost.
-- Bare stays: the same numbers may have been given bare once and, since a seed by force, with a prefix.

local key, token, range_end, last, epoch = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]

if not decimal(range_end) or not decimal(last) or token == '' then
  return redis.error_reply('HILO_ARGUMENT return wants a token, and end and last as decimals')
end

local state, err = fields(key, 'Max', 'Lease', 'Origin', 'Epoch', 'From')
if err then return err end
local max, lease, origin, from = state[1], state[2], state[3] or '', state[5] or '0'
if max ~= range_end or lease ~= token or above(last, range_end) or not decimal(from) or above(from, plus(last, '1')) or
    (state[4] or '0') ~= epoch or origin ~= replication_id() then
  return {'0', max or ''}
end

redis.call('HDEL', key, 'Lease', 'Low', 'From') -- first, as the one that an ACL may lack
redis.call('HSET', key, 'Max', last)
return {'1', last}
