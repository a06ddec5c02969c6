-- decimal.lua: exact arithmetic over all of int64, put in front of every script.
--
-- Lua numbers are doubles, exact only up to 2^53, so a value stays the canonical decimal text that it
-- is stored and sent as. It is compared by length, then as text; sums are made of doubles where both
-- are short, and else of two halves, high * 10^9 + low, which stay far below 2^53. '%.0f' writes a whole
-- double: tostring() turns to exponents on Redis, and '%d' is a C long, which ends at 2^31 on a server of 32 bits.

local find, sub, format = string.find, string.sub, string.format

local LARGEST = '9223372036854775807'

-- Whether this is a canonical decimal between 0 and 2^63-1.
local function decimal(text)
  return text == '0' or text and find(text, '^[1-9]%d*$') and (#text < 19 or #text == 19 and text <= LARGEST)
end

local function above(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

local function lesser(a, b)
  if above(a, b) then return b end
  return a
end

-- a + sign * b, which must not be below 0.
local function sum(a, b, sign)
  if #a < 16 and #b < 16 then return format('%.0f', a + sign * b) end
  local high = (tonumber(sub(a, 1, -10)) or 0) + sign * (tonumber(sub(b, 1, -10)) or 0)
  local low = tonumber(sub(a, -9)) + sign * tonumber(sub(b, -9))
  if low >= 1000000000 then high, low = high + 1, low - 1000000000 end
  if low < 0 then high, low = high - 1, low + 1000000000 end
  if high == 0 then return format('%.0f', low) end
  return format('%.0f%09.0f', high, low)
end

-- Most of what there is to add is short, and '%d' takes half the time of '%.0f'.
local function plus(a, b)
  if #a < 10 and #b < 10 then return format('%d', a + b) end -- below 2^31
  return sum(a, b, 1)
end
-- state.lua: reading what is stored, and when it is written; put in front of every script after decimal.lua.

local DECIMAL = 'must be a decimal from 0 to 9223372036854775807 without sign or leading zeros'

-- An error with its tag about a key, and maybe about a value found there and the rule that it breaks.
local function refusal(tag, key, text, value, rule)
  local function printable(part) return (string.gsub(sub(part, 1, 40), '%c', '?')) end
  text = 'HILO_' .. tag .. ' key ' .. printable(key) .. ' ' .. text
  if value then text = text .. ' "' .. printable(value) .. '": ' .. rule end
  return redis.error_reply(text)
end

-- Fields of a hash, in the order asked for: text, or false for an absent one. Or an error to return as it is.
local function fields(key, ...)
  local read = redis.pcall('HMGET', key, ...)
  if read.err then
    if find(read.err, 'WRONGTYPE', 1, true) then return nil, refusal('CORRUPT', key, 'is not a hash') end
    return nil, read
  end
  return read
end

-- When a counter is written, and the seconds of the server's clock: its microseconds, or one more than
-- when the counter was last written, where the clock went back. So no two writes of a counter have the
-- same time, nor has one that was lost and begins anew any of those that it had: it begins later.
local function write_time(last)
  local now = redis.call('TIME')
  local written = format('%.0f', now[1] * 1000000 + now[2]) -- exact up to the year 2255
  if not above(written, last) then written = lesser(plus(last, '1'), LARGEST) end
  return written, now[1]
end

-- The replication id of this server: it changes when a server restarts and when a replica is
-- promoted. '' where INFO is not permitted. A replica shows that of its primary, which gives the same numbers:
-- one that takes writes, by replica-read-only no, is refused as others are, but where it is only asked.
local function replication_id(asked)
  local info = redis.pcall('INFO', 'replication')
  if type(info) ~= 'string' then return '' end
  if not asked and find(sub(info, 1, 40), 'role:slave', 1, true) then
    error({err = 'READONLY numbers are not given by a replica, also where it takes writes'})
  end
  local _, label = find(info, 'master_replid:', 1, true) -- a pattern would take seven times as long
  return label and string.match(info, '^%x+', label + 1) or ''
end
-- server.lua: what the server says of itself, read at the start of every script that gives out or seeds.
-- It ends the script with an error where that is unusable, or a name is used both ways.
--
-- KEYS[1] -> the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo  the server's prefix and node tag
-- KEYS[3] -> the key of the same name and the other kind, only looked for; KEYS[2] again where there is none
--
-- Leaves key, prefix, tag, and bare: whether identifiers have neither prefix nor tag.

local key, server_key, other_key = KEYS[1], KEYS[2], KEYS[3]

local server, server_err = fields(server_key, 'ServerPrefix', 'NodeTag')
if server_err then return server_err end

-- The whole rule, with Unicode, is checked by the client; this much keeps an unusable prefix from
-- costing a range.
local prefix, tag = server[1] or '', server[2] or ''
if prefix ~= '' and (#prefix > 64 or not find(prefix, '^[^|{}%s%c]*[^|{}%s%c%d]$')) then
  return refusal('CORRUPT', server_key, 'field ServerPrefix holds', prefix,
    'must be 0 to 64 bytes without "|", braces, white space or controls, and not end in a digit')
end
if tag ~= '' and (#tag > 8 or not find(tag, '^[A-Za-z][A-Za-z0-9]*$')) then
  return refusal('CORRUPT', server_key, 'field NodeTag holds', tag, 'must be 1 to 8 of A-Z a-z 0-9, first a letter')
end
local bare = prefix == '' and tag == ''

-- An identity and a number without prefix and tag would be the same text, so where the server adds
-- nothing, a name is either a collection or an identity.
if bare and other_key ~= server_key and redis.call('EXISTS', other_key) == 1 then
  return refusal('MIXED', key, 'may not be used while the key of the same name and the other kind exists:', other_key,
    'without a server prefix or node tag both give the same identifiers')
end

local field, own, smallest_gap = 'Max', 'Low', '65536'
-- counter.lua: the counter that numbers are given from, read after server.lua in next and identity, with
-- its tallies and the guard against lost writes. Nothing is written here. It is no function, and keeps
-- its results in locals, because the script starts anew with each call: making closures that share
-- these locals would take a tenth of the server's time.
--
-- ARGV[1]  -> token of this request, unique; the same again when the same request is sent again
-- ARGV[2]  -> how many numbers are asked for, 1 or more
-- ARGV[3]  -> limit, the greatest number ever to be issued
-- ARGV[4]  -> floor, the greatest number this client was given and did not return; 0: none
-- ARGV[5]  -> the greatest epoch that this client saw of the counter; 0: none
-- ARGV[6]  -> guard gap; 0: computed here
-- ARGV[7]  -> least gap that the client knows to be needed; used where the gap is computed
-- ARGV[8]  -> the name as the caller spells it
-- ARGV[9]  -> '1': a missing counter is an error
-- ARGV[10] -> '1': a server with neither prefix nor tag gives nothing
-- ARGV[11] -> of an identity: how often it had been lowered by force when the floor was given
--
-- Takes field, the one that counts, own, the one that only this kind of counter has, and smallest_gap.
-- Leaves what the verb and give.lua use: token, wanted, limit, floor, max, own_value, ranges, epoch, lease,
-- bare_max, before and written, when it was last written and is now, the tallies, and of the guard base,
-- the number to go on from, evidence and jump.

local token, wanted, limit, floor, seen, guard_gap, least_gap = unpack(ARGV, 1, 7)
if not (decimal(wanted) and decimal(limit) and decimal(floor) and decimal(seen) and decimal(guard_gap) and
    decimal(least_gap)) or wanted == '0' or token == '' then
  return redis.error_reply('HILO_ARGUMENT a token, a count of 1 or more, and limit, floor, epoch and gaps as decimals are wanted')
end
if bare and ARGV[10] == '1' then
  return refusal('NOPREFIX', server_key, 'has neither ServerPrefix nor NodeTag, and one is required')
end

local read, err = fields(key, field, own, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written', 'Lease', 'Origin')
if err then return err end
local missing = not read[1]
for i = 1, 9 do
  local value = read[i]
  if not value then
    read[i] = '0'
  elseif missing then
    return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were given out; seed it above all that was issued')
  elseif not decimal(value) then
    local names = {field, own, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written'}
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', value, DECIMAL)
  end
end
local max, own_value, ranges, epoch, minute, issued, issued_before, bare_max, before = unpack(read, 1, 9)
local lease, origin, replication = read[10] or '', read[11] or '', replication_id()
if missing and (lease ~= '' or origin ~= '') then
  return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were given out; seed it above all that was issued')
end
if missing and ARGV[9] == '1' then
  return refusal('NOTSEEDED', key, 'does not exist and RequireSeeded is set; seed it above all that was issued')
end

-- Who cannot see whether the server was restarted would walk past the guard that the others rely on.
if origin ~= '' and replication == '' then
  return refusal('UNGUARDED', key, 'has an Origin, and this user may not ask INFO to compare it with; permit +info, ' ..
    'or remove the field Origin where the server permits INFO to nobody')
end

-- The tallies, brought to this minute of the server's clock. One that went back keeps both, so that the
-- gap errs to the large side.
local written, now = write_time(before)
local seconds = now - 60 * minute
local another_minute = seconds < 0 or seconds >= 60
if another_minute then
  minute = format('%.0f', math.floor(now / 60))
  if seconds < 0 then
    issued_before = plus(issued_before, issued)
  elseif seconds < 120 then
    issued_before = issued
  else
    issued_before = '0'
  end
  issued = '0'
  seconds = now % 60
end
if seconds < 1 then seconds = 1 end
if issued_before ~= '0' then seconds = seconds + 60 end

-- The guard. Replication and persistence can lose the newest writes, so a counter can go back. The floor
-- and the epoch show it to a client that lived through it, another replication id to everybody: the server
-- was restarted or promoted since it gave the last numbers.
if ARGV[11] and above(own_value, ARGV[11]) then floor = '0' end
local base, evidence, jump = max, '', '0'
if above(floor, max) then
  evidence = missing and 'missing' or 'floor'
elseif above(seen, epoch) then
  evidence = 'epoch'
elseif replication ~= origin and origin ~= '' then
  evidence = 'origin'
end

-- The jump, where writes may be lost: first past everything that can have been given, by the gap. The
-- tallies that count for that are those stored, however long ago: an outage issues nothing, and must not
-- make them forgotten. From there on to a place that the token picks, because two servers, or two lives
-- of one, may go on from the same state, and would meet in the same place. The replication id has a say in
-- it, since one request may be sent to both: the reply of the first was lost.
if evidence ~= '' then
  -- A place from 0 to size - 1, evenly by a hash in hex. Of a large size the last nine digits are picked by
  -- themselves, so that no double passes 2^53.
  local function place(hash, size)
    local function part(from) -- of 1, by 48 bits; tonumber takes no more than 32 everywhere
      return (tonumber(sub(hash, from, from + 5), 16) * 2 ^ 24 + tonumber(sub(hash, from + 6, from + 11), 16)) / 2 ^ 48
    end
    if #size < 16 then return format('%.0f', math.floor(part(1) * (tonumber(size) or 0))) end
    local high = format('%.0f', math.floor(part(1) * sub(size, 1, -10)))
    local low = format('%09.0f', math.floor(part(13) * 1000000000))
    return string.match(high .. low, '^0*(%d+)$') -- without leading zeros
  end

  local gap = guard_gap
  if gap == '0' then
    local lately = plus(read[6], read[7])
    for _, least in ipairs({smallest_gap, plus(wanted, wanted), plus(lately, lately), least_gap}) do
      if above(least, gap) then gap = least end
    end
  end
  if above(floor, max) then base = floor end
  local far = plus(base, gap)
  if not above(limit, far) then
    return refusal('EXHAUSTED', key, 'stands at ' .. max .. ', writes may have been lost (' .. evidence .. '), and up to the limit ' ..
      limit .. ' there is no room for a gap of ' .. gap .. ' above ' .. base .. '; a smaller one is set by GuardGap')
  end
  local places = gap
  for _ = 1, 6 do places = plus(places, places) end
  places = lesser(places, sub(sum(limit, far, -1), 1, -4)) -- a thousandth of what is left
  base = plus(far, place(redis.sha1hex(token .. replication), places))
  jump = sum(base, max, -1)
  if above(seen, epoch) then epoch = seen end
  epoch = lesser(plus(epoch, '1'), LARGEST)
end

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

-- give.lua: the end of next and identity: writes the counter and replies, as next.lua says.
--
-- Takes low and high of what is given; issue, how many numbers that are, nil where nothing is to be
-- written; more, fields that only this kind of counter has; last, the last item of the reply.

if issue then
  issued = lesser(plus(issued, issue), LARGEST)
  if another_minute then
    redis.call('HSET', key, 'Minute', minute, 'IssuedBefore', lesser(issued_before, LARGEST))
  end
  if origin == '' and not redis.call('HMGET', key, 'Name')[1] then redis.call('HSET', key, 'Name', ARGV[8]) end
  if replication ~= origin then redis.call('HSET', key, 'Origin', replication) end
  if evidence ~= '' then redis.call('HSET', key, 'Epoch', epoch) end
  redis.call('HSET', key, field, high, 'Issued', issued, 'Written', written, unpack(more))
end
local lately = issued_before == '0' and issued or lesser(plus(issued, issued_before), LARGEST)
return {token, low, high, epoch, prefix, tag, jump, evidence, lately,
  format('%d', seconds), replication, ranges, written, last} -- seconds are far below 2^31
