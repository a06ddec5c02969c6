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
-- Output: {low, high, epoch, prefix, tag, jump, evidence, issued, seconds}, all text:
--   jump      how far Max was moved on evidence of lost writes, 0 without
--   evidence  '', 'floor' (Max is below the floor), 'origin' (another replication id), 'missing'
--   issued    numbers issued in this minute and the one before, of the server's clock
--   seconds   how many seconds those tallies cover, 1 or more
-- Errors: HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: while the token is still the newest lease the same range is replied and nothing
-- changes. Nobody else can hold it: it was computed once, for this token, and the reply to that
-- was lost. Later, or with another token, it is a new request.

local counter_key, server_key, identity_key = KEYS[1], KEYS[2], KEYS[3]
local token, name = ARGV[1], ARGV[8]
local capacity, limit, floor = decimal(ARGV[2]), decimal(ARGV[3]), decimal(ARGV[4])
local guard_gap, least_gap = decimal(ARGV[5]), decimal(ARGV[6])
local require_seeded = ARGV[7] == '1'

if not (capacity and limit and floor and guard_gap and least_gap) or token == '' or not above(capacity, ZERO) then
  return redis.error_reply('HILO_ARGUMENT next wants a token, a capacity of 1 or more, limit, floor and gaps as decimals')
end

-- Read and check.
local state, err = fields(counter_key, 'Max', 'Lease', 'Low', 'Ranges', 'Origin', 'Epoch', 'Name', 'Minute', 'Issued', 'IssuedBefore')
if err then return err end
local missing, lease, origin = not state[1], state[2], state[5] or ''
local max, low, ranges, epoch, minute, issued, issued_before
max, err = number(counter_key, 'Max', state[1])
if err then return err end
low, err = number(counter_key, 'Low', state[3])
if err then return err end
ranges, err = number(counter_key, 'Ranges', state[4])
if err then return err end
epoch, err = number(counter_key, 'Epoch', state[6])
if err then return err end
minute, err = number(counter_key, 'Minute', state[8])
if err then return err end
issued, err = number(counter_key, 'Issued', state[9])
if err then return err end
issued_before, err = number(counter_key, 'IssuedBefore', state[10])
if err then return err end
if missing and state[4] then
  return corrupt(counter_key, 'Ranges', state[4], 'ranges were handed out, yet Max is missing; seed the counter above all that was issued')
end

local server
server, err = server_prefix(server_key)
if err then return err end
err = mixed(server, counter_key, identity_key)
if err then return err end

-- The tallies, brought to this minute. A clock that went back keeps both, so that the gap
-- errs to the large side. One assignment at a time: gopher-lua, which miniredis runs, spoils a
-- multiple one whose right side names an earlier target.
local now = tonumber(redis.call('TIME')[1])
local this_minute = {0, math.floor(now / 60)}
if above(minute, this_minute) then
  issued_before = plus(issued_before, issued)
  issued = ZERO
elseif above(this_minute, plus(minute, {0, 1})) then
  issued_before = ZERO
  issued = ZERO
elseif above(this_minute, minute) then
  issued_before = issued
  issued = ZERO
end
local seconds = math.max(1, now % 60)
if above(issued_before, ZERO) then seconds = seconds + 60 end

local function reply(first, last, jump, evidence)
  return {to_text(first), to_text(last), to_text(epoch), server.prefix, server.tag, to_text(jump), evidence,
    to_text(lesser(plus(issued, issued_before), decimal(LARGEST))), string.format('%d', seconds)}
end

-- A resend, unless Max was moved by hand meanwhile: then the range is not what was replied.
if not missing and lease == token and above(low, floor) and
    to_text(lesser(plus(low, minus(capacity, {0, 1})), limit)) == to_text(max) then
  return reply(low, max, ZERO, '')
end

if missing and require_seeded then
  return redis.error_reply('HILO_NOTSEEDED key ' .. printable(counter_key) .. ' does not exist and RequireSeeded is set; seed it above all that was issued')
end

-- The guard. Replication and persistence can lose the newest writes, so Max can go back. The
-- floor shows it to a client that lived through it, another replication id to everybody.
local known = replication_id()
local evidence = ''
if missing and above(floor, ZERO) then
  evidence = 'missing'
elseif above(floor, max) then
  evidence = 'floor'
elseif origin ~= '' and known ~= '' and origin ~= known then
  evidence = 'origin'
end

local base, jump = max, ZERO
if evidence ~= '' then
  local gap = guard_gap
  if not above(gap, ZERO) then
    local lately = plus(issued, issued_before)
    gap = greater(greater({0, 1024}, plus(capacity, capacity)), greater(plus(lately, lately), least_gap))
  end
  base = plus(greater(max, floor), gap)
  jump = minus(base, max)
  epoch = lesser(plus(epoch, {0, 1}), decimal(LARGEST))
end

if not above(limit, base) then
  return redis.error_reply('HILO_EXHAUSTED key ' .. printable(counter_key) .. ' stands at ' .. to_text(max) ..
    ' and the limit is ' .. to_text(limit))
end

-- Write, all at once.
local high = lesser(plus(base, capacity), limit)
low = plus(base, {0, 1})
issued = lesser(plus(issued, minus(high, base)), decimal(LARGEST))
local write = {'HSET', counter_key,
  'Max', to_text(high), 'Low', to_text(low), 'Lease', token,
  'Ranges', to_text(lesser(plus(ranges, {0, 1}), decimal(LARGEST))),
  'Minute', to_text(this_minute), 'Issued', to_text(issued),
  'IssuedBefore', to_text(lesser(issued_before, decimal(LARGEST)))}
if not state[7] then
  write[#write + 1] = 'Name'
  write[#write + 1] = name
end
if known ~= '' and known ~= origin then
  write[#write + 1] = 'Origin'
  write[#write + 1] = known
end
if evidence ~= '' then
  write[#write + 1] = 'Epoch'
  write[#write + 1] = to_text(epoch)
end
redis.call(unpack(write))
return reply(low, high, jump, evidence)
