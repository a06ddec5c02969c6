-- counter.lua: what every script does that gives out numbers, put in front of it after state.lua:
-- reading a counter, the tallies, the guard against lost writes, and writing it back.

-- The counter under a key, with its tallies brought to this minute; an error to return as it is
-- for state that no script wrote. field is the one that counts.
local function read_counter(key, field)
  local names = {field, 'Low', 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Lowered'}
  local read, err = fields(key, field, 'Low', 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Lowered', 'Lease', 'Origin', 'Name')
  if err then return nil, err end
  local values = {}
  for i, name in ipairs(names) do
    local value, bad = number(key, name, read[i])
    if bad then return nil, bad end
    values[i] = value
  end
  if not read[1] and (read[3] or read[4]) then
    return nil, redis.error_reply('HILO_CORRUPT key ' .. printable(key) .. ' has no ' .. field ..
      ', yet numbers were given out; seed it above all that was issued')
  end
  local counter = {
    key = key, field = field, missing = not read[1],
    max = values[1], low = values[2], ranges = values[3], epoch = values[4],
    issued = values[6], issued_before = values[7], lately = plus(values[6], values[7]), lowered = values[8],
    lease = read[9] or '', origin = read[10] or '', name = read[11],
    evidence = '', jump = ZERO, replication = replication_id(),
  }

  -- A clock that went back keeps both tallies, so that the gap errs to the large side. One
  -- assignment at a time: gopher-lua, which miniredis runs, spoils a multiple one whose right side
  -- names an earlier target.
  local now = tonumber(redis.call('TIME')[1])
  local minute = values[5]
  counter.minute = {0, math.floor(now / 60)}
  counter.another_minute = counter.minute[1] ~= minute[1] or counter.minute[2] ~= minute[2]
  if above(minute, counter.minute) then
    counter.issued_before = plus(counter.issued_before, counter.issued)
    counter.issued = ZERO
  elseif above(counter.minute, plus(minute, ONE)) then
    counter.issued_before = ZERO
    counter.issued = ZERO
  elseif above(counter.minute, minute) then
    counter.issued_before = counter.issued
    counter.issued = ZERO
  end
  counter.seconds = math.max(1, now % 60)
  if above(counter.issued_before, ZERO) then counter.seconds = counter.seconds + 60 end
  return counter
end

-- Whether the server was restarted or promoted since it gave the last numbers.
local function other_origin(counter)
  return counter.origin ~= '' and counter.replication ~= '' and counter.origin ~= counter.replication
end

-- The guard. Replication and persistence can lose the newest writes, so a counter can go back. The
-- floor shows it to a client that lived through it, another replication id to everybody. Where
-- writes may be lost, the next number is past everything that can have been given. The tallies that
-- count for that are those stored, however long ago: an outage issues nothing, and must not make them
-- forgotten.
local function guard(counter, floor, guard_gap, least_gap, capacity)
  counter.base = counter.max
  if counter.missing and above(floor, ZERO) then
    counter.evidence = 'missing'
  elseif above(floor, counter.max) then
    counter.evidence = 'floor'
  elseif other_origin(counter) then
    counter.evidence = 'origin'
  else
    return
  end
  local gap = guard_gap
  if not above(gap, ZERO) then
    gap = greater(greater({0, 1024}, plus(capacity, capacity)), greater(plus(counter.lately, counter.lately), least_gap))
  end
  counter.base = plus(greater(counter.max, floor), gap)
  counter.jump = minus(counter.base, counter.max)
  counter.epoch = plus(counter.epoch, ONE)
end

local function exhausted(counter, limit)
  return redis.error_reply('HILO_EXHAUSTED key ' .. printable(counter.key) .. ' stands at ' .. to_text(counter.max) ..
    ' and the limit is ' .. to_text(limit))
end

local function not_seeded(key)
  return redis.error_reply('HILO_NOTSEEDED key ' .. printable(key) ..
    ' does not exist and RequireSeeded is set; seed it above all that was issued')
end

-- Writes the counter at high, all at once, with what else the caller keeps in it. n is how many
-- numbers are issued.
local function write_counter(counter, high, n, name, more)
  counter.issued = lesser(plus(counter.issued, n), MOST)
  local write = {'HSET', counter.key, counter.field, to_text(high), 'Issued', to_text(counter.issued)}
  if counter.another_minute then
    write[#write + 1] = 'Minute'
    write[#write + 1] = to_text(counter.minute)
    write[#write + 1] = 'IssuedBefore'
    write[#write + 1] = to_text(lesser(counter.issued_before, MOST))
  end
  if not counter.name then
    write[#write + 1] = 'Name'
    write[#write + 1] = name
  end
  if counter.replication ~= '' and counter.replication ~= counter.origin then
    write[#write + 1] = 'Origin'
    write[#write + 1] = counter.replication
  end
  if counter.evidence ~= '' then
    write[#write + 1] = 'Epoch'
    write[#write + 1] = to_text(lesser(counter.epoch, MOST))
  end
  for _, text in ipairs(more) do write[#write + 1] = text end
  redis.call(unpack(write))
end

local function given(counter, server, low, high)
  return {to_text(low), to_text(high), to_text(lesser(counter.epoch, MOST)), server.prefix, server.tag,
    to_text(counter.jump), counter.evidence,
    to_text(lesser(plus(counter.issued, counter.issued_before), MOST)), string.format('%d', counter.seconds),
    counter.replication, to_text(counter.ranges), counter.lease, to_text(counter.lowered)}
end
