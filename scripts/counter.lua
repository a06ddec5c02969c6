-- counter.lua: the counter that numbers are given from, read after server.lua in next and identity, with
-- its tallies and the guard against lost writes. Nothing is written here. It is no function, and keeps
-- its results in locals, because the script starts anew with each call: making closures that share
-- these locals would take a tenth of the server's time.
--
-- ARGV[2] -> how many numbers are asked for, 1 or more
-- ARGV[3] -> limit, the greatest number ever to be issued
-- ARGV[4] -> floor, the greatest number this client was given and did not return; 0: none
-- ARGV[5] -> guard gap; 0: computed here
-- ARGV[6] -> least gap that the client knows to be needed; used where the gap is computed
-- ARGV[7] -> '1': a missing counter is an error
-- ARGV[8] -> the name as the caller spells it
-- ARGV[9] -> of an identity: how often it had been lowered by force when the floor was given
--
-- Takes field, the one that counts, and own, the one that only this kind of counter has. Leaves what
-- the verb and give.lua use: wanted, limit, floor, max, own_value, ranges, epoch, lease, the tallies,
-- and of the guard base, the number to go on from, evidence and jump.

local wanted, limit, floor, guard_gap, least_gap = ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
if not (decimal(wanted) and decimal(limit) and decimal(floor) and decimal(guard_gap) and decimal(least_gap)) or wanted == '0' then
  return redis.error_reply('HILO_ARGUMENT a count of 1 or more, limit, floor and gaps must be decimals')
end

local read, err = fields(key, field, own, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Lease', 'Origin')
if err then return err end
local missing = not read[1]
if missing and (read[3] or read[4]) then
  return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were given out; seed it above all that was issued')
end
for i = 1, 7 do
  if not read[i] then
    read[i] = '0'
  elseif not decimal(read[i]) then
    local names = {field, own, 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore'}
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', read[i], DECIMAL)
  end
end
if missing and ARGV[7] == '1' then
  return refusal('NOTSEEDED', key, 'does not exist and RequireSeeded is set; seed it above all that was issued')
end
local max, own_value, ranges, epoch, minute, issued, issued_before = unpack(read, 1, 7)
local lease, origin, replication = read[8] or '', read[9] or '', replication_id()

-- The tallies, brought to this minute of the server's clock. One that went back keeps both, so that the
-- gap errs to the large side.
local now = redis.call('TIME')[1]
local seconds = now - 60 * minute
local another_minute = seconds < 0 or seconds >= 60
if another_minute then
  minute = format('%d', math.floor(now / 60))
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

-- The guard. Replication and persistence can lose the newest writes, so a counter can go back. The
-- floor shows it to a client that lived through it, another replication id to everybody: the server was
-- restarted or promoted since it gave the last numbers. Where writes may be lost, the next number is
-- past everything that can have been given. The tallies that count for that are those stored, however
-- long ago: an outage issues nothing, and must not make them forgotten.
if ARGV[9] and above(own_value, ARGV[9]) then floor = '0' end
local base, evidence, jump = max, '', '0'
if above(floor, max) then
  evidence = missing and 'missing' or 'floor'
elseif replication ~= origin and origin ~= '' and replication ~= '' then
  evidence = 'origin'
end
if evidence ~= '' then
  if guard_gap == '0' then
    local lately = plus(read[6], read[7])
    for _, least in ipairs({'1024', plus(wanted, wanted), plus(lately, lately), least_gap}) do
      if above(least, guard_gap) then guard_gap = least end
    end
  end
  if above(floor, max) then base = floor end
  base = plus(base, guard_gap)
  jump = sum(base, max, -1)
  epoch = lesser(plus(epoch, '1'), LARGEST)
end
