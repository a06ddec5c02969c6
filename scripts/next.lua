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
--
-- Output: {token, low, high, epoch, prefix, tag, jump, evidence, issued, seconds, origin, ranges, written, before}, all text:
--   token     of the request, so that no reply is taken for another's
--   jump      how far Max was moved on evidence of lost writes, 0 without
--   evidence  '', 'floor' (Max is below the floor), 'epoch' (Epoch is below the one seen), 'origin' (another
--             replication id), 'missing' (the counter is gone)
--   issued    numbers issued in this minute and the one before, of the server's clock
--   seconds   how many seconds those tallies cover, 1 or more
--   origin    replication id of this server, '' where INFO is not permitted
--   ranges    how many ranges were given with this one
--   written   when this range was taken, to know it by in a return: no other write of the counter has the same
--   before    when the counter was last written before that; 0: never, or this is a resend. Where the range of
--             this client that ends right below was written then, nobody was given any in between
-- Errors: HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_NOPREFIX, HILO_MIXED, HILO_UNGUARDED, HILO_ARGUMENT;
-- nothing is written.
--
-- Sent twice: while the token is still the newest lease the same range is replied and the counter
-- stays as it is, but for Bare where the server has lost its prefix in between. Nobody else can hold it:
-- it was computed once, for this token, and the reply to that was lost. Later, or with another token, it
-- is a new request.

local low, high, issue, more
local last = before

-- A resend, unless Max was moved by hand meanwhile, so that the range is not what was replied, or the
-- server was restarted or promoted, so that others may have been given it since.
if lease == token and evidence == '' and above(own_value, floor) and
    lesser(sum(plus(own_value, wanted), '1', -1), limit) == max then
  redis.call('HSET', key, 'Lease', token) -- for a WAIT behind it, which speaks for this connection's writes
  if bare and above(max, bare_max) then redis.call('HSET', key, 'Bare', max) end -- it may have had a prefix the first time
  low, high, written, last = own_value, max, before, '0'
else
  low, high, issue = plus(base, '1'), plus(base, wanted), wanted
  if above(high, limit) then
    if not above(limit, base) then
      return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and the limit is ' .. limit)
    end
    high, issue = limit, sum(limit, base, -1)
  end
  if ranges ~= LARGEST then ranges = plus(ranges, '1') end
  if bare and above(high, bare_max) then -- the identity of this name goes on above it
    more = {'Low', low, 'Lease', token, 'Ranges', ranges, 'Bare', high}
  else
    more = {'Low', low, 'Lease', token, 'Ranges', ranges}
  end
end
