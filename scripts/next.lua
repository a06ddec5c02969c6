-- next.lua: takes the next range of a collection.
--
-- KEYS[1] -> {ns}/HiLo/<collection>        the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo      the server's prefix and node tag
-- KEYS[3] -> {ns}/Identities/<collection>  the identity of the same name, only looked for
-- ARGV[1] -> token of this request, unique; the same again when the same request is sent again
-- ARGV[2] -> capacity, how many numbers are asked for, 1 or more
-- ARGV[3] -> limit, the greatest number ever to be issued
-- ARGV[4] -> floor, the greatest number this client was given and did not return; 0: none
-- ARGV[5] -> guard gap; 0: computed here
-- ARGV[6] -> least gap that the client knows to be needed; used where the gap is computed
-- ARGV[7] -> '1': a missing counter is an error
-- ARGV[8] -> the collection as the caller spells it
--
-- Output: {low, high, epoch, prefix, tag, jump, evidence, issued, seconds, origin, ranges,
-- before, lowered}, all text:
--   jump      how far Max was moved on evidence of lost writes, 0 without
--   evidence  '', 'floor' (Max is below the floor), 'origin' (another replication id), 'missing'
--   issued    numbers issued in this minute and the one before, of the server's clock
--   seconds   how many seconds those tallies cover, 1 or more
--   origin    replication id of this server, '' where INFO is not permitted
--   ranges    how many ranges were given with this one, to know it by in a return
--   before    the lease that this one follows: the newest until then, '' where it was returned, a seed
--             came in between, or this is a resend
--   lowered   '0'; of an identity, how often it was lowered by force
-- Errors: HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: while the token is still the newest lease the same range is replied and the counter
-- stays as it is. Nobody else can hold it: it was computed once, for this token, and the reply to that
-- was lost. Later, or with another token, it is a new request.

local counter_key, server_key, identity_key = KEYS[1], KEYS[2], KEYS[3]
local token, name = ARGV[1], ARGV[8]
local capacity, limit, floor = decimal(ARGV[2]), decimal(ARGV[3]), decimal(ARGV[4])
local guard_gap, least_gap = decimal(ARGV[5]), decimal(ARGV[6])
local require_seeded = ARGV[7] == '1'

if not (capacity and limit and floor and guard_gap and least_gap) or token == '' or not above(capacity, ZERO) then
  return redis.error_reply('HILO_ARGUMENT next wants a token, a capacity of 1 or more, limit, floor and gaps as decimals')
end

local counter, err = read_counter(counter_key, 'Max')
if err then return err end
local server
server, err = server_prefix(server_key)
if err then return err end
err = mixed(server, counter_key, identity_key)
if err then return err end

-- A resend, unless Max was moved by hand meanwhile, so that the range is not what was replied, or the
-- server was restarted or promoted, so that others may have been given it since.
if not counter.missing and counter.lease == token and not other_origin(counter) and above(counter.low, floor) and
    to_text(lesser(plus(counter.low, minus(capacity, ONE)), limit)) == to_text(counter.max) then
  redis.call('HSET', counter_key, 'Lease', token) -- for a WAIT behind it, which speaks for this connection's writes
  counter.lease = ''
  return given(counter, server, counter.low, counter.max)
end

if counter.missing and require_seeded then return not_seeded(counter_key) end
guard(counter, floor, guard_gap, least_gap, capacity)
if not above(limit, counter.base) then return exhausted(counter, limit) end

local low, high = plus(counter.base, ONE), lesser(plus(counter.base, capacity), limit)
counter.ranges = lesser(plus(counter.ranges, ONE), MOST)
write_counter(counter, high, minus(high, counter.base), name, {
  'Low', to_text(low), 'Lease', token, 'Ranges', to_text(counter.ranges)})
return given(counter, server, low, high)
