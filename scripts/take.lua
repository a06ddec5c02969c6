-- take.lua: issues numbers from a counter, the next range of a collection (next), or the next values of an identity or of the
-- counter of server-side identifiers (identity). It raises the counter's ceiling at a durable server (raise), and foresees the
-- outcome of next (check).
--
-- Somebody who reads HGETALL of a counter sees these fields, and may set Max or Value by hand:
--
--   Max, Value         greatest number issued, of a collection and of the other kinds
--   Raised             greatest number that was ever reserved; nothing above it is in use, even if writes of Max are lost
--   Block, RaisedAt    by how much Raised was raised last, and when (milliseconds since 1970)
--   Ceiling            at a durable server: the greatest number that may be issued, a Raised that is known to be on disk
--   Low, Lease         first number of the newest range, and the token of its request
--   Ranges             number of ranges issued
--   Name               the spelling first used
--   Written, Origin    time of the newest write of Max or Value, and replication id of the server that made it
--   Epoch              milliseconds of the first range, times 1,000,000, plus the number of jumps
--   Bare               1 if a number was issued without prefix and tag
--   Lowered            of an identity: number of forced seeds that lowered it
--   Forced             token of the newest forced seed
--
-- KEYS[1]  -> {ns}/HiLo/<name>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2]  -> {ns}/ServerPrefixForHilo  the server's settings
-- KEYS[3]  -> the key of the same name and the other kind, only read; KEYS[2] again if there is none, as for server-side
--             identifiers
-- ARGV[1]  -> token: unique to this request; a resend repeats it
-- ARGV[2]  -> count: size of the range requested, 1 or more
-- ARGV[3]  -> limit: greatest number that may ever be issued
-- ARGV[4]  -> name, as the caller spells it
-- ARGV[5]  -> floor: greatest number that was issued to this client and not returned, 0 for none
-- ARGV[6]  -> seen_epoch: greatest epoch of the counter that this client has seen, 0 for none
-- ARGV[7]  -> seen_ceiling: greatest ceiling of the counter that this client has seen, 0 for none
-- ARGV[8]  -> seen_block: greatest block of the counter that this client has seen, 0 for none
-- ARGV[9]  -> age: seconds since this client's newest answer about the counter; used if the counter is missing
-- ARGV[10] -> settled: '1' makes a server with neither prefix nor tag nor interval an error, as it had one of them
-- ARGV[11] -> mixed: '1' if this client was issued numbers of the other kind of this name that have neither prefix nor tag
-- ARGV[12] -> identity only: seen_lowered, value of Lowered when floor was issued
-- ARGV[13] -> identity only: exact, the value to issue if every issued value is below it, 0 for the next values
-- ARGV[14] -> identity only: anywhere, '1' also issues on a server that is not the home of identities
--
-- Output of next and identity: {token, low, high, epoch, prefix, tag, jump, evidence, ceiling, block, origin, written, last,
-- durable}, all strings, and interval behind them if the server has one:
--   token     of the request, so that the reply to another request is detected
--   jump      distance by which the counter was advanced because writes may have been lost, 0 if it was not
--   evidence  reason for the jump: 'floor' (the counter is below it, or Raised is below seen_ceiling), 'missing' (and does not
--             exist), 'epoch' (below the one seen, or of another birth and without a jump since), 'origin' (the server was
--             restarted or promoted since, or is not durable any more), or '' for no jump
--   ceiling   greatest number that may be issued before the ceiling is raised again
--   block     by how much it was raised last
--   origin    replication id of this server, '' if INFO is not permitted
--   written   time of this write, which no other write of the counter has
--   last      next: time of the previous write, 0 if there was none or this is a resend. If it is the written of the
--             range that ends right below, nothing was issued in between. identity: number of forced seeds that lowered it
--   durable   '', 'everysec' or 'always', as the server has it, or why it was removed: 'replica' (one is connected), 'history'
--             (the replication id changed otherwise than by a restart from the AOF), 'cluster' (the server is a node of one),
--             'evidence' (writes were lost all the same)
--   interval  MinValue and MaxValue, with a space between them
-- If an exact value cannot be issued, low and epoch are '0', ceiling is what is stored, and the counter is not written.
--
-- Output of raise: {token; raised; permitted, '1' if numbers up to it may be issued now; origin; epoch, jump and evidence as
-- above; low, the number after which the counter continues; left, how many numbers may still be issued, and lasts, how many
-- seconds they last at the rate since the raise before; obstacle, what keeps the ceiling from being raised, '' for none; created,
-- '1' if there was no such counter}. With an obstacle nothing was written, and raised, epoch and jump are '0'. Output of check:
-- {'1'}.
--
-- Errors: HILO_ARGUMENT, HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_NOPREFIX, HILO_MIXED, HILO_UNGUARDED; of next and
-- identity HILO_CEILING, if the server is durable and its ceiling has to be raised first; of identity HILO_ELSEWHERE; of raise
-- HILO_CHANGED, if the server is not durable; of check HILO_NOTDURABLE. Nothing is written.
--
-- Sent twice: next replies the same range as long as the token is the newest lease, there is no evidence of lost writes and,
-- where the ceiling cut the range, it would still do so. No other client can hold that range, because it was computed once, for this token, and the reply was lost.
-- identity issues other values, and the first ones become a gap. An exact value is refused. raise writes something each time,
-- so that whoever waits for the disk waits for a write that is at least as new.
--
-- The loader defines IDENTITY, which is true for identity and its raise, and MODE, 'take', 'raise' or 'check'. Everything is read
-- and checked before anything is written. The file is one function, because a closure for each of its parts takes 11 % more of
-- the server's time.

-- Arguments.
local token, count, limit, name, floor, seen_epoch, seen_ceiling, seen_block, age, settled, mixed, seen_lowered, exact, anywhere = unpack(ARGV)
local field, own_field, first_block = 'Max', 'Low', '16384'
if IDENTITY then field, own_field, first_block = 'Value', 'Lowered', '256' end

if #ARGV ~= (IDENTITY and 14 or 11) or not (decimal(count) and (limit == LARGEST or decimal(limit)) and decimal(age)) or
    count == '0' or token == '' or IDENTITY and not (decimal(seen_lowered) and decimal(exact)) then
  return redis.error_reply('HILO_ARGUMENT want ' .. (IDENTITY and 14 or 11) .. ' arguments, a token, a count of 1 or more, and decimals')
end

-- Settings.
if is_replica then return redis.error_reply(ON_REPLICA) end
if bare and not interval and settled == '1' then
  return refusal('NOPREFIX', server_key, 'has neither ServerPrefix nor NodeTag nor an interval, and one is required: the server lost its ' ..
    'settings, or was never set up; set them as they were (hilo settings set), or see hilo help recover')
end
local alone = other_key == server_key -- there is no other kind
if mixed == '1' and (bare or IDENTITY) and not alone then
  return refusal('MIXED', key, 'may not be used: without prefix and tag this client was issued numbers of the other kind of the name:',
    other_key, 'both have the same identifiers')
end
if IDENTITY and not (alone or bare) then -- on a bare server both keys never exist
  local other, other_err = fields(other_key, 'Bare', 'Max', 'Ranges', 'Written')
  if other_err then return other_err end
  if other[1] or other[2] and other[2] ~= '0' and not other[3] and not other[4] then
    return refusal('MIXED', key, 'may not be used: the collection of the name issued numbers without prefix and tag, or was set by hand:',
      other_key, 'both have the same identifiers; take another name, or remove Bare there if neither is true')
  end
end
if IDENTITY and not (alone or bare and not interval or home or anywhere == '1') then -- all values of a name come from one server
  return refusal('ELSEWHERE', key, 'may not be used: the server has a prefix, node tag or interval and is not the home of identities: ' ..
    'Identities is not here in ' .. server_key)
end

-- Read the counter.
local read, err = fields(key, field, own_field, 'Ranges', 'Epoch', 'Raised', 'Block', 'Ceiling', 'Bare', 'Written', 'Lease', 'Origin')
if err then return err end
local missing = not read[1]
for i = 1, 9 do
  local value = read[i]
  if not value then
    if i ~= 7 then read[i] = '0' end
  elseif missing then
    return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were issued; seed it above all that was issued')
  elseif not decimal(value) then
    local names = {field, own_field, 'Ranges', 'Epoch', 'Raised', 'Block', 'Ceiling', 'Bare', 'Written'}
    return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', value, DECIMAL)
  end
end
local max, own, ranges, epoch, raised, block, ceiling, bare_before, before = unpack(read, 1, 9)
-- The marks mostly are what is stored, which is checked by now. To check them all takes 2 % of a range's time.
if not ((floor == max or decimal(floor)) and (seen_epoch == epoch or decimal(seen_epoch)) and
    (seen_ceiling == raised or decimal(seen_ceiling)) and (seen_block == block or decimal(seen_block))) then
  return redis.error_reply('HILO_ARGUMENT want decimals as the marks of a client')
end
local lease, origin = read[10] or '', read[11] or ''
if missing and (lease ~= '' or origin ~= '') then
  return refusal('CORRUPT', key, 'has no ' .. field .. ', yet numbers were issued; seed it above all that was issued')
end

-- A counter that is missing is new, or lost. A client that has a floor there knows that it is lost and, if that is recent, how
-- far the others can be. Otherwise only the settings show that the server was not emptied.
if IDENTITY and above(own, seen_lowered) then floor = '0' end -- lowered on purpose since
if missing and floor ~= '0' and above(age, '600') then
  return refusal('NOTSEEDED', key, 'is gone, and this client last saw it ' .. age .. ' s ago, too long to know how far others are: hilo help recover')
end
if missing and floor == '0' then
  local settings = redis.call('HMGET', server_key, 'NewCounters', 'Initialized', 'Identities') -- a worker may not call EXISTS here
  local new = settings[1]
  if new and new ~= 'no' then return refusal('CORRUPT', server_key, 'field NewCounters holds', new, 'must be no, or absent') end
  if not (new or settings[2] or settings[3] or server[1] or server[2] or server[3] or server[4] or server[5]) then
    return refusal('NOTSEEDED', key, 'does not exist, and the server has no settings: hilo init if it is new; hilo help recover if it lost its data')
  elseif new then
    return refusal('NOTSEEDED', key, 'does not exist, and the server makes no counters (NewCounters is no): hilo seed NAME --max 0 if it is new; ' ..
      'hilo help recover if the server lost its data')
  end
end

-- The interval. A counter that is missing or below it stands right below it.
local stored, limit_name = max, 'the limit'
if interval then
  if above(min_value, max) then max = sum(min_value, '1', -1) end
  if not above(max_value, limit) then limit, limit_name = max_value, 'MaxValue of ' .. server_key end
end
if above(max, raised) then raised = max end -- by a seed, by hand, or by hilo 0.1

-- Evidence that the server lost writes. Replication and persistence can lose the newest ones, so a counter can go back. Floor,
-- epoch and ceiling show that to a client that saw later ones, the replication id to every client. Without INFO a client cannot
-- detect a restart, and its write would hide one from the others.
--
-- A durable server that was restarted from its own file may have lost writes of Max, and no Raised up to Ceiling. So its counter
-- continues above Raised, and only a Raised that is too low contradicts the statement.
if origin ~= '' and replication == '' then
  return refusal('UNGUARDED', key, 'has an Origin to compare with INFO; permit +info, or remove the field Origin if no user may call INFO')
end
local moved, evidence, state = origin ~= '' and origin ~= replication, '', durable
local reserved = durable ~= '' and ceiling -- a Raised that was known to be on disk
if above(floor, reserved and moved and raised or stored) or (reserved or not moved) and above(seen_ceiling, raised) then
  evidence = missing and 'missing' or 'floor'
elseif above(seen_epoch, epoch) or seen_epoch ~= '0' and seen_epoch ~= epoch and sub(epoch, -6) == '000000' then
  evidence = 'epoch'
elseif moved then
  evidence = 'origin'
end
if durable ~= '' then
  if not find(info, 'connected_slaves:0\r', 1, true) and find(info, 'slave%d+:[^\r]*port=[1-9]') then -- redis-cli --rdb has no port
    state = 'replica'
  elseif evidence ~= '' and evidence ~= 'origin' then
    state = 'evidence'
  elseif moved then
    local cluster, persistence = redis.pcall('INFO', 'cluster'), redis.pcall('INFO', 'persistence')
    if not find(info, 'master_replid2:0000000000000000000000000000000000000000\r', 1, true) or
        type(persistence) == 'string' and find(persistence, 'aof_enabled:0\r', 1, true) then -- from a snapshot, perhaps an old one
      state = 'history'
    elseif type(cluster) == 'string' and find(cluster, 'cluster_enabled:1', 1, true) then
      state = 'cluster'
    end
  end
end
local is_durable = state ~= '' and state == durable
if ceiling and not is_durable and evidence == '' then evidence = 'origin' end -- the statement was withdrawn

-- Jump. The unit is four times the greatest block, because the raise that was lost may have been four times the one before. It
-- lasts four minutes at a steady rate, and an hour is 15 of them. A pseudo-random offset derived from token and replication id
-- is added: two servers that continue from the same state, such as an old primary and its replacement, are unlikely to issue
-- overlapping ranges. The replication id is part of it because one request may be sent to both, if the reply of the first is lost.
--
-- A restart is told from a promotion because the snapshot of a server with replicas has the id of its history too, as
-- master_replid2: a promoted replica was up by the last write that it has. What was lost within the minute between that write
-- and a restart is below one unit.
local clock, written = write_time(before)
local base, jump = max, '0'
if evidence ~= '' and is_durable and ceiling then
  base = raised
elseif evidence ~= '' then
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

  local unit, units = count, evidence == 'missing' and 1 + math.floor(age / 60) or 1
  for _, other in ipairs({block, seen_block, first_block}) do
    if above(other, unit) then unit = other end
  end
  unit = plus(unit, unit)
  unit = plus(unit, unit)
  if moved then
    local persistence, process = redis.pcall('INFO', 'persistence'), redis.pcall('INFO', 'server')
    local uptime = type(process) == 'string' and string.match(process, 'uptime_in_seconds:(%d+)')
    local promoted = find(info, 'master_replid2:' .. origin .. '\r', 1, true) and uptime and uptime * 1000 + 60000 > clock - before
    if not promoted and (type(persistence) ~= 'string' or not find(persistence, 'aof_enabled:1\r', 1, true)) then units = 15 end
  end
  base = raised
  if above(seen_ceiling, base) then base = seen_ceiling end
  if above(floor, base) then base = floor end
  local start = base
  for _ = 1, units do base = plus(base, unit) end
  if not above(limit, base) then
    return refusal('EXHAUSTED', key, 'stands at ' .. max .. ', writes may have been lost (' .. evidence .. '), and up to ' .. limit_name .. ' ' ..
      limit .. ' there is no room for a margin of ' .. units .. ' times ' .. unit .. ' above ' .. start ..
      '; find out what was issued, delete the key, seed it above that, and restart its clients')
  end
  local places = unit
  for _ = 1, #unit > 6 and 4 or 6 do places = plus(places, places) end
  local left = sub(sum(limit, base, -1), 1, -4)
  if above(places, left) then places = left end -- at most a thousandth of what is left
  base = plus(base, place(redis.sha1hex(token .. replication), places))
end
if evidence ~= '' then
  jump = sum(base, max, -1)
  if above(seen_epoch, epoch) then epoch = seen_epoch end
end
if #epoch < 7 then epoch = clock .. '000000' end -- made now, seeded, set by hand, or of hilo 0.1: its birth
if evidence ~= '' then epoch = plus(epoch, '1') end

-- Choose the numbers. issue reports whether they are written.
local low, high, issue, last, more = plus(base, '1'), plus(base, count), true, before, {}
if IDENTITY then
  last = own
  if exact ~= '0' and (MODE == 'take' or above(exact, base)) then
    low, high = exact, exact
    if evidence ~= '' and not (is_durable and ceiling) or not above(exact, base) then
      low, high, issue, evidence, jump, epoch, raised = '0', max, false, '', '0', '0', read[5] -- what the counter may become is not replied
    end
  end
else
  -- A resend, unless Max was moved by hand meanwhile, so that the range is not what was replied, or writes may have been lost, so
  -- that another client may hold it.
  local resent = lease == token and evidence == '' and above(own, floor) and sum(sum(own, count, 1), '1', -1)
  if resent and above(resent, limit) then resent = limit end
  if resent and is_durable and ceiling and above(resent, ceiling) then resent = ceiling end
  if resent == max then
    low, high, issue, written, last, epoch = own, max, false, before, '0', read[4]
    more = {'Lease', token}
  else
    ranges = plus(ranges, '1')
    more = {'Low', low, 'Lease', token, 'Ranges', ranges}
  end
end
if issue and not above(limit, high) then -- the limit is reached, or passed
  local left = above(limit, base) and sum(limit, base, -1) or '0'
  if low == exact then left = above(exact, limit) and '0' or count end
  if left == '0' or IDENTITY and above(count, left) then
    return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and ' .. limit_name .. ' is ' .. limit)
  end
  if above(count, left) then high = limit end
end

-- The ceiling. A plain server raises it in the write of the range that would pass it. A durable one issues what it has, and is
-- raised by a request of its own. A raise reserves the range that needs it and a block, which grows with the rate. A large
-- request is added and not kept.
local raise = not is_durable and issue and above(high, raised)
if MODE == 'raise' then
  more = {}
  if not is_durable then
    return refusal('CHANGED', server_key, 'has no Durable, or it is not true any more, so that numbers are issued without a raise')
  end
  raise = above(high, raised) or above(block, plus(sum(raised, base, -1), sum(raised, base, -1)))
elseif is_durable and issue and (evidence ~= '' or not ceiling or above(high, ceiling)) then
  if evidence == '' and ceiling and not IDENTITY and above(ceiling, base) then
    high = ceiling
  elseif MODE == 'take' then
    return refusal('CEILING', key, 'stands at ' .. max .. ', and nothing above ' .. (ceiling or max) .. ' is known to be on disk')
  else
    local way, passing = obstacle()
    if way and passing ~= 'sync' then return refusal('NOTDURABLE', key, 'issues nothing more, since its ceiling is used up: ' .. way) end
  end
end
if MODE == 'check' then return {'1'} end
if raise then
  local first, at, within = first_block, redis.call('HMGET', key, 'RaisedAt')[1], 60000
  if is_durable then first, within = IDENTITY and '16' or '64', 1800000 end
  local since = decimal(at) and clock - at -- a difference of milliseconds, which a double has
  if since and evidence == '' and since < within then
    block = plus(block, block)
    block = plus(block, block)
  elseif since and evidence == '' and since > 7200000 then
    block = format('%.0f', math.floor(block / 2)) -- a size, for which 16 digits do
  end
  if above(first, block) then block = first end
  local to = plus(high, block)
  if above(to, limit) then to = limit end
  if above(to, raised) then raised = to end -- never lower, as of a client with another limit
  more[#more + 1], more[#more + 2], more[#more + 3], more[#more + 4] = 'Block', block, 'RaisedAt', clock
end
if raise or MODE == 'raise' then more[#more + 1], more[#more + 2] = 'Raised', raised end

-- Write and reply. The first number without prefix and tag is recorded for ever. So is a counter whose numbers have unknown
-- texts, because it was set by hand, or was deleted with its Bare.
if not IDENTITY and bare_before == '0' and (bare or stored ~= '0' and read[3] == '0' and before == '0' or
    evidence ~= '' and (missing or seen_epoch ~= '0' and sub(seen_epoch, 1, -7) ~= sub(read[4], 1, -7))) then
  more[#more + 1], more[#more + 2] = 'Bare', '1'
end
if MODE == 'raise' then
  local left, lasts = '0', '0'
  if evidence == '' and ceiling and above(ceiling, max) then -- doubles do for a rate
    local at, used = redis.call('HMGET', key, 'RaisedAt')[1], max - (read[5] - read[6])
    left = sum(ceiling, max, -1)
    if decimal(at) and used > 0 and clock - at > 0 then lasts = format('%.0f', math.min(left * (clock - at) / used / 1000, 2 ^ 53)) end
  end
  local way, passing = obstacle()
  if way and (durable == 'always' or not passing) then -- else permit waits for it
    return {token, '0', '0', replication, '0', '0', '', max, left, lasts, way, '0'}
  end
  if evidence ~= '' or not ceiling then ceiling = base end
  if evidence == '' and before ~= '0' then written = before end -- nothing is issued, so a range before may still be returned
  if durable == 'always' then ceiling = raised end
  if missing then redis.call('HSET', key, 'Name', name) end
  if evidence ~= '' and not IDENTITY then redis.call('HDEL', key, 'Lease', 'Low') end
  redis.call('HSET', key, field, base, 'Ceiling', ceiling, 'Epoch', epoch, 'Origin', replication, 'Written', written, unpack(more))
  return {token, raised, durable == 'always' and '1' or '0', replication, epoch, jump, evidence, base, left, lasts, '',
    missing and evidence == '' and '1' or '0'}
end
if state ~= durable then redis.call('HDEL', server_key, 'Durable') end
if ceiling and not is_durable and issue then redis.call('HDEL', key, 'Ceiling') end
if issue then
  if origin == '' and not redis.call('HMGET', key, 'Name')[1] then redis.call('HSET', key, 'Name', name) end
  if epoch ~= read[4] then redis.call('HSET', key, 'Epoch', epoch) end
  redis.call('HSET', key, field, high, 'Written', written, unpack(more))
elseif not IDENTITY then
  redis.call('HSET', key, unpack(more))
end
if replication ~= origin and (issue or not IDENTITY) then redis.call('HSET', key, 'Origin', replication) end
return {token, low, high, epoch, prefix, tag, jump, evidence, is_durable and ceiling or raised, block, replication, written, last, state,
  interval and min_value .. ' ' .. max_value or nil} -- nil ends the reply
