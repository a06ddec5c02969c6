-- next.lua: takes the next range of a collection.
--
-- KEYS[1]  -> {ns}/HiLo/<collection>        the counter
-- KEYS[2]  -> {ns}/ServerPrefixForHilo      the server's prefix and node tag
-- KEYS[3]  -> {ns}/Identities/<collection>  the identity of the same name, only looked for
-- ARGV[1]  -> token of this request, unique; the same again when the same request is sent again
-- ARGV[2]  -> capacity, how many numbers are asked for, 1 or more
-- ARGV[3]  -> limit, the greatest number ever to be issued
-- ARGV[4]  -> floor, the greatest number this client was given and did not return; 0: none
-- ARGV[5]  -> the greatest epoch that this client saw of the counter; 0: none
-- ARGV[6]  -> guard gap; 0: computed here
-- ARGV[7]  -> least gap that the client knows to be needed; used where the gap is computed
-- ARGV[8]  -> the collection as the caller spells it
-- ARGV[9]  -> '1': a missing counter is an error
-- ARGV[10] -> '1': a server with neither prefix nor tag gives nothing
-- ARGV[11] -> token of the newest range that this client holds of the counter; empty: none
-- ARGV[12] -> the first number of that range
--
-- Output: {token, low, high, epoch, prefix, tag, jump, evidence, issued, seconds, origin, ranges, from}, all text:
--   token     of the request, so that no reply is taken for another's
--   jump      how far Max was moved on evidence of lost writes, 0 without
--   evidence  '', 'floor' (Max is below the floor), 'epoch' (Epoch is below the one seen), 'origin' (another
--             replication id), 'missing' (the counter is gone)
--   issued    numbers issued in this minute and the one before, of the server's clock
--   seconds   how many seconds those tallies cover, 1 or more
--   origin    replication id of this server, '' where INFO is not permitted
--   ranges    how many ranges were given with this one
--   from      the first number of the run that this range ends: the ranges that this client took one right
--             after another, with nothing in between. A return goes back to there at most
-- Errors: HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_NOPREFIX, HILO_MIXED, HILO_UNGUARDED, HILO_ARGUMENT;
-- nothing is written.
--
-- Sent twice: while the token is still the newest lease the same range is replied and the counter
-- stays as it is. Nobody else can hold it: it was computed once, for this token, and the reply to that
-- was lost. Later, or with another token, it is a new request.

local follows, follows_low = ARGV[11], ARGV[12]
local low, high, issue = own_value, max, nil

-- A resend, unless Max was moved by hand meanwhile, so that the range is not what was replied, or the
-- server was restarted or promoted, so that others may have been given it since.
local again = lease == token and evidence == '' and above(own_value, floor) and
  lesser(sum(plus(own_value, wanted), '1', -1), limit) == max
if again then
  redis.call('HSET', key, 'Lease', token) -- for a WAIT behind it, which speaks for this connection's writes
else
  low, high, issue = plus(base, '1'), plus(base, wanted), wanted
  if above(high, limit) then
    if not above(limit, base) then
      return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and the limit is ' .. limit)
    end
    high, issue = limit, sum(limit, base, -1)
  end
  if ranges ~= LARGEST then ranges = plus(ranges, '1') end
end

-- A run goes on where the newest range is the one that this client holds: by its token; by its first number,
-- since a late copy of its request may have taken others after the counter was lost and seeded; and by its last,
-- the floor, since Max may have been moved by hand. So all of a run went to one client, and nothing in between.
local last = low
if again or lease ~= '' and lease == follows and own_value == follows_low and max == floor and evidence == '' then
  local from = fields(key, 'From')[1]
  if decimal(from) and above(low, from) then last = from end
end
local more = {'Low', low, 'From', last, 'Lease', token, 'Ranges', ranges}
if bare and above(high, bare_max) then -- the identity of this name goes on above it
  more = {'Low', low, 'From', last, 'Lease', token, 'Ranges', ranges, 'Bare', high}
end
