-- take.lua: issues numbers from a counter, the next range of a collection (next), or the next values of an identity or
-- of the counter of server-side identifiers (identity).
--
-- KEYS[1]  -> {ns}/HiLo/<name>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2]  -> {ns}/ServerPrefixForHilo  the server's prefix, node tag, home flag and Durable
-- KEYS[3]  -> the key of the same name and the other kind, only read; KEYS[2] again if there is none, as for server-side
--             identifiers
-- ARGV[1]  -> token: unique to this request; a resend repeats it
-- ARGV[2]  -> count: size of the range requested, 1 or more
-- ARGV[3]  -> limit: greatest number that may ever be issued
-- ARGV[4]  -> floor: greatest number that was issued to this client and not returned, 0 for none
-- ARGV[5]  -> seen_epoch: greatest epoch of the counter that this client has seen, 0 for none
-- ARGV[6]  -> guard_gap: size of a jump's gap, 0 to compute it. A gap is at least what any client of the counter relies
--             on: the greatest guard_gap sent, and the computed gap if one sent 0
-- ARGV[7]  -> least_gap: lower bound of a computed gap
-- ARGV[8]  -> name, as the caller spells it
-- ARGV[9]  -> require_seeded: '1' makes a missing counter an error
-- ARGV[10] -> require_prefix: '1' makes a server with neither prefix nor tag an error
-- ARGV[11] -> other_floor: greatest number of the other kind of this name that this server issued to this client
--             without prefix and tag, 0 for none
-- ARGV[12] -> raise_top: '1' reads and raises Top, for a gateway whose clients return ranges by their end; '0' for
--             identities
-- ARGV[13] -> identity only: seen_lowered, value of Lowered when floor was issued
-- ARGV[14] -> identity only: exact, the value to issue if every issued value is below it, 0 for the next values
-- ARGV[15] -> identity only: anywhere, '1' also issues on a server that is not the home of identities
--
-- Output: {token, low, high, epoch, prefix, tag, jump, evidence, issued, seconds, origin, ranges, written, last,
-- durable, top}, all strings:
--   token     of the request, so that the reply to another request is detected
--   jump      distance by which the counter was advanced because writes may have been lost, 0 if it was not
--   evidence  reason for the jump: 'floor' (the counter is below it), 'missing' (and does not exist), 'epoch' (below the
--             one seen), 'origin' (the server was restarted or promoted since), 'other' (identity only: the collection of
--             the name may have lost writes), or '' for no jump
--   issued    numbers issued in this minute and in the last one before it that had any, by the server's clock
--   seconds   length of that period so far, 1 or more
--   origin    replication id of this server, '' if INFO is not permitted
--   ranges    number of ranges issued, this one included
--   written   time of this write, which no other write of the counter has
--   last      next: time of the previous write, 0 if there was none or this is a resend. If it is the written of the
--             range that ends right below, nothing was issued in between. identity: number of forced seeds that lowered
--             it
--   durable   '' if the server has no Durable, 'always' if it stays, else why it was removed: 'replica' (one is
--             connected), 'history' (the replication id changed otherwise than by a restart from the AOF), 'aof' (it is
--             off), 'cluster' (the server is a node of one), 'evidence' (writes were lost all the same)
--   top       with raise_top the value of Top before this range, 0 for none; else 0
-- If an exact value cannot be issued, low is '0', and the counter is not written.
-- Errors: HILO_ARGUMENT, HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_NOPREFIX, HILO_MIXED, HILO_UNGUARDED; of
-- identity also HILO_ELSEWHERE. Nothing is written.
--
-- Sent twice: next replies the same range as long as the token is the newest lease and there is no evidence of lost
-- writes. No other client can hold that range, because it was computed once, for this token, and the reply was lost.
-- identity issues other values, and the first ones become a gap. An exact value is refused.
--
-- The loader defines IDENTITY, which is true for identity. Everything is read and checked before anything is written.

local token, count, limit, floor, seen_epoch, guard_gap, least_gap, name, require_seeded, require_prefix, other_floor,
  raise_top, seen_lowered, exact, anywhere = unpack(ARGV)
local field, own_field, least = 'Max', 'Low', RANGE_GAP
if IDENTITY then field, own_field, least = 'Value', 'Lowered', IDENTITY_GAP end

if not (decimal(count) and decimal(limit) and decimal(floor) and decimal(seen_epoch) and decimal(guard_gap) and
    decimal(least_gap) and decimal(other_floor)) or count == '0' or token == '' or
    IDENTITY and not (decimal(seen_lowered) and decimal(exact)) then
  return redis.error_reply('HILO_ARGUMENT want a token, a count of 1 or more, and decimals')
end
if is_replica then return redis.error_reply(ON_REPLICA) end
if bare and require_prefix == '1' then
  return refusal('NOPREFIX', server_key, 'has neither ServerPrefix nor NodeTag, and one is required')
end
local alone = other_key == server_key -- there is no other kind
if bare and other_floor ~= '0' and not alone then
  return refusal('MIXED', key, 'may not be used: without prefix and tag this client was issued up to ' .. other_floor ..
    ' of the other kind of the name, and its key is gone:', other_key, 'both have the same identifiers')
end
if IDENTITY and not (alone or bare or home or anywhere == '1') then -- all values of a name come from one server
  return refusal('ELSEWHERE', key, 'may not be used: the server has a prefix or node tag and is not the home of identities: ' ..
    'Identities is not here in ' .. server_key)
end

-- Read the counter.
local read, err
if raise_top == '1' then -- read together: a second call takes 4 % of a range's time
  read, err = fields(key, field, own_field, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written', 'Lease', 'Origin', 'GuardGap', 'Top', 'Gap')
else
  read, err = fields(key, field, own_field, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written', 'Lease', 'Origin')
end
if err then return err end
local missing = not read[1]
for i = 1, 9 do
  local value = read[i]
  if not value then
    read[i] = '0'
  elseif missing then
    return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were issued; seed it above all that was issued')
  elseif not decimal(value) then
    local names = {field, own_field, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written'}
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', value, DECIMAL)
  end
end
local max, own, ranges, epoch, minute, issued, issued_before, bare_max, before = unpack(read, 1, 9)
local lease, origin = read[10] or '', read[11] or ''
if missing and (lease ~= '' or origin ~= '') then
  return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were issued; seed it above all that was issued')
end
if missing and require_seeded == '1' then
  return refusal('NOTSEEDED', key, 'does not exist and RequireSeeded is set; seed it above all that was issued')
end

-- Without INFO this client cannot detect a restart, and its write would hide one from the others.
local UNGUARDED = 'has an Origin to compare with INFO; permit +info, or remove the field Origin if no user may call INFO'
if origin ~= '' and replication == '' then return refusal('UNGUARDED', key, UNGUARDED) end

-- Look for evidence that the server lost writes. Replication and persistence can lose the newest ones, so a counter can
-- go back. Floor and epoch show that to a client that received later numbers, the replication id to every client.
if IDENTITY and above(own, seen_lowered) then floor = '0' end -- lowered on purpose since
local evidence = ''
if above(floor, max) then
  evidence = missing and 'missing' or 'floor'
elseif above(seen_epoch, epoch) then
  evidence = 'epoch'
else
  local lost
  lost, durable = lost_since(origin, replication, info, durable)
  if lost then evidence = 'origin' end
end

-- The first client after a loss jumps for all of them. So the greatest GuardGap that any client sent counts, and the
-- computed gap as well if a client relies on it.
local kept_gap, top, relied_on = read[12], read[13], read[14]
if raise_top ~= '1' and (evidence ~= '' or guard_gap ~= '0') then
  kept_gap, relied_on = unpack(redis.call('HMGET', key, 'GuardGap', 'Gap'))
end
if kept_gap and not decimal(kept_gap) then return refusal('CORRUPT', key, 'field GuardGap holds', kept_gap, DECIMAL) end
if top and not decimal(top) then return refusal('CORRUPT', key, 'field Top holds', top, DECIMAL) end
kept_gap, top = kept_gap or '0', top or '0'

local base, jump, far = max, '0', max
if evidence ~= '' or IDENTITY and not (alone or bare) then
  -- Returns start, the gap above it, and its end, past everything that can have been issued. The tallies that count are
  -- those stored, however long ago: an outage issues nothing, and must not make them forgotten.
  local function past(start, least, kept, relied_on, tally)
    local gap = guard_gap
    if gap == '0' or relied_on then
      for _, other in ipairs({least, plus(count, count), plus(tally, tally), least_gap}) do
        if above(other, gap) then gap = other end
      end
    end
    if above(kept, gap) then gap = kept end
    return start, gap, plus(start, gap)
  end

  local start, gap
  if evidence ~= '' then
    start, gap, far = past(above(floor, max) and floor or max, least, kept_gap, relied_on, plus(issued, issued_before))
  end

  -- An identity continues above the numbers that the collection of its name issued without prefix and tag, because their
  -- texts are equal. Bare is the greatest of these, unless writes of that key may have been lost. Then it is at most the
  -- end of the gap above all that is known of the key, even if there is no Bare, because the removal of the prefix may be
  -- lost as well. That key is not written, so the same is found again until a range is taken from it. By then this
  -- counter is above.
  if IDENTITY and not (alone or bare) then
    local names = {'Max', 'Bare', 'Issued', 'IssuedBefore', 'GuardGap', 'Origin', 'Gap'}
    local other, other_err = fields(other_key, unpack(names))
    if other_err then return other_err end
    for i = 1, 5 do
      if not other[i] then
        other[i] = '0'
      elseif not decimal(other[i]) then
        return refusal('CORRUPT', other_key, 'field ' .. names[i] .. ' holds', other[i], DECIMAL)
      end
    end
    local known, other_bare, other_issued, other_before, other_gap = unpack(other, 1, 5)
    local other_origin, lost = other[6] or ''
    if other_origin ~= '' and replication == '' then return refusal('UNGUARDED', other_key, UNGUARDED) end
    lost, durable = lost_since(other_origin, replication, info, durable)
    if lost or above(other_floor, other_bare) then
      if above(other_bare, known) then known = other_bare end
      if above(other_floor, known) then known = other_floor end
      local other_start, gap_above, other_far = past(known, RANGE_GAP, other_gap, other[7], plus(other_issued, other_before))
      if above(other_far, far) then
        start, gap, far = other_start, gap_above, other_far
        if evidence == '' then evidence = 'other' end
      end
    elseif above(other_bare, base) then
      base = other_bare
    end
  end

  -- Jump. A pseudo-random offset, uniform over 64 gaps and derived from token and replication id, is added: two servers
  -- that continue from the same state, such as an old primary and its replacement, are unlikely to issue overlapping
  -- ranges. The replication id is part of it because one request may be sent to both, if the reply of the first is lost.
  if evidence ~= '' then
    -- Returns an integer in [0, size), from 96 bits of a hash. The last nine digits of a large size are drawn separately,
    -- because doubles are exact only up to 2^53.
    local function place(hash, size)
      local function fraction(from) -- by 48 bits; tonumber takes no more than 32 everywhere
        return (tonumber(sub(hash, from, from + 5), 16) * 2 ^ 24 + tonumber(sub(hash, from + 6, from + 11), 16)) / 2 ^ 48
      end
      if #size < 16 then return format('%.0f', math.floor(fraction(1) * (tonumber(size) or 0))) end
      local high = format('%.0f', math.floor(fraction(1) * sub(size, 1, -10)))
      local low = format('%09.0f', math.floor(fraction(13) * 1000000000))
      return string.match(high .. low, '^0*(%d+)$') -- without leading zeros
    end

    if above(base, far) then far = base end -- a Bare, to which two servers add different offsets too
    if not above(limit, far) then
      return refusal('EXHAUSTED', key, 'stands at ' .. max .. ', writes may have been lost (' .. evidence .. '), and up to ' ..
        'the limit ' .. limit .. ' there is no room for a gap of ' .. gap .. ' above ' .. start .. '; a smaller one is set ' ..
        'by GuardGap, and by the field GuardGap of the key where there is one')
    end
    local places = gap
    for _ = 1, 6 do places = plus(places, places) end
    local left = sub(sum(limit, far, -1), 1, -4)
    if above(places, left) then places = left end -- at most a thousandth of what is left
    base = plus(far, place(redis.sha1hex(token .. replication), places))
    jump = sum(base, max, -1)
    if above(seen_epoch, epoch) then epoch = seen_epoch end
    epoch = plus(epoch, '1')
    if durable == 'always' then durable = 'evidence' end
  end
end

-- Bring the tallies to this minute of the server's clock. After a clock was set back both are kept, and after it was set
-- forward the last minute that had any, so that the gap is rather too large.
local written, now = write_time(before)
local seconds = now - 60 * minute
local another_minute = seconds < 0 or seconds >= 60
if another_minute then
  minute = format('%.0f', math.floor(now / 60))
  issued_before = seconds < 0 and plus(issued_before, issued) or issued
  issued, seconds = '0', now % 60
end
if seconds < 1 then seconds = 1 end
if issued_before ~= '0' then seconds = seconds + 60 end

-- Choose the numbers. issue is how many are written, nil if none are.
local low, high, issue, last, more
local resent = lease == token and sum(sum(own, count, 1), '1', -1) -- the end of the range that the lease is for
if resent and above(resent, limit) then resent = limit end
if IDENTITY then
  low, high, issue, last, more = plus(base, '1'), plus(base, count), count, own, {}
  if exact ~= '0' then
    low, high, issue = exact, exact, '1'
    if evidence ~= '' or not above(exact, base) then
      low, high, issue, evidence, jump, epoch = '0', max, nil, '', '0', read[4]
    end
  end
elseif resent == max and evidence == '' and above(own, floor) then
  -- A resend, unless Max was moved by hand meanwhile, so that the range is not what was replied, or writes may have
  -- been lost, so that another client may hold it. It writes something, so that a WAIT behind it covers this connection.
  low, high, written, last = own, max, before, '0'
  more = {'Lease', token}
else
  low, high, issue, last = plus(base, '1'), plus(base, count), count, before
  ranges = plus(ranges, '1')
  more = {'Low', low, 'Lease', token, 'Ranges', ranges}
end

if issue and not above(limit, high) then -- the limit is reached, or passed
  local left = above(limit, base) and sum(limit, base, -1) or '0'
  if exact ~= '0' and IDENTITY then left = above(exact, limit) and '0' or '1' end
  if left == '0' or IDENTITY and above(issue, left) then
    return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and the limit is ' .. limit)
  end
  if above(issue, left) then high, issue = limit, left end
end

-- Write and reply. Lost numbers may have been issued without prefix and tag, whatever the server has now. Once Origin is
-- this server's, only Bare shows that to the identity of the name.
if durable ~= '' and durable ~= 'always' then redis.call('HDEL', server_key, 'Durable') end
if not IDENTITY then
  local bare_to = bare and high or evidence ~= '' and far or '0'
  if above(bare_to, bare_max) then more[#more + 1], more[#more + 2] = 'Bare', bare_to end
  if raise_top == '1' and above(high, top) then more[#more + 1], more[#more + 2] = 'Top', high end
end
if issue then
  issued = plus(issued, issue)
  if another_minute then
    redis.call('HSET', key, 'Minute', minute, 'IssuedBefore', issued_before)
  end
  if origin == '' and not redis.call('HMGET', key, 'Name')[1] then redis.call('HSET', key, 'Name', name) end
  if evidence ~= '' then redis.call('HSET', key, 'Epoch', epoch) end
  if above(guard_gap, kept_gap) then redis.call('HSET', key, 'GuardGap', guard_gap) end
  -- The first request of a client sets Gap, and so does its first one after a loss. If the field is lost later, so are all
  -- numbers that were issued with it. A gateway sends its clients' floor first, and has read the field.
  if guard_gap == '0' and not relied_on and (floor == '0' or evidence ~= '' or raise_top == '1') then
    more[#more + 1], more[#more + 2] = 'Gap', 'computed'
  end
  redis.call('HSET', key, field, high, 'Issued', issued, 'Written', written, unpack(more))
elseif not IDENTITY then
  redis.call('HSET', key, unpack(more))
end
if replication ~= origin and (issue or not IDENTITY) then redis.call('HSET', key, 'Origin', replication) end
local lately = issued_before == '0' and issued or plus(issued, issued_before)
return {token, low, high, epoch, prefix, tag, jump, evidence, lately,
  format('%d', seconds), replication, ranges, written, last, durable, raise_top == '1' and top or '0'} -- seconds are far below 2^31
