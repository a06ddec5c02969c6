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
