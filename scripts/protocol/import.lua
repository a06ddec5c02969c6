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

local smallest_gap = '65536'
-- import.lua: raises a counter of any kind to what another server, or another program, knows of it.
--
-- KEYS[1] -> {ns}/HiLo/<collection>, {ns}/Identities/<name> or {ns}/ServerSide  the counter
-- KEYS[2] -> {ns}/ServerPrefixForHilo                                           the server's prefix and node tag
-- KEYS[3] -> the key of the same name and the other kind, only looked for; KEYS[2] again where there is
--            none to look for, or the server is about to get a prefix: then nothing is taken for given bare
-- ARGV[1] -> the field that counts: 'Max' or 'Value'
-- ARGV[2] -> value to raise it to
-- ARGV[3] -> the name as the caller spells it
-- ARGV[4] -> epoch to raise it to
-- ARGV[5] -> ranges, how many to raise the count of ranges to
-- ARGV[6] -> greatest number given without prefix and tag, to raise Bare to; 0: none, as always of an identity
--
-- Output: {value that stands now, value that stood before, '' where there was none}
-- Errors: HILO_CORRUPT, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- Lease, Origin and Bare as in seed.lua; but where Origin is another server's, Bare is raised past what
-- may have been given since it wrote. Another server's Origin is not taken over: this server's
-- replication id is another one, which would read as lost writes.
-- Sent twice: the second time raises nothing more.

local field, wanted, name, epoch, ranges, given_bare = unpack(ARGV, 1, 6)

if not (decimal(wanted) and decimal(epoch) and decimal(ranges) and decimal(given_bare)) or (field ~= 'Max' and field ~= 'Value') then
  return redis.error_reply('HILO_ARGUMENT import wants Max or Value, and value, epoch, ranges and bare as decimals from 0 to ' .. LARGEST)
end

local names = {field, 'Epoch', 'Ranges', 'Bare', 'Written', 'Issued', 'IssuedBefore'}
local state, err = fields(key, field, 'Epoch', 'Ranges', 'Bare', 'Written', 'Issued', 'IssuedBefore', 'Name', 'Origin')
if err then return err end
for i, part in ipairs(names) do
  if state[i] and not decimal(state[i]) then
    return refusal('CORRUPT', key, 'field ' .. part .. ' holds', state[i], DECIMAL)
  end
end

local stands = state[1] or '0'
if above(wanted, stands) then stands = wanted end
local replication, origin = replication_id(), state[9] or ''
if bare and field == 'Max' and other_key ~= server_key then
  local given = stands
  if origin ~= '' and origin ~= replication then
    -- Writes may be lost since, and the numbers of those were bare too: a gap as in counter.lua, by which
    -- Max is going to jump when it is known whether anybody wants more.
    local lately = plus(state[6] or '0', state[7] or '0')
    local gap = plus(lately, lately)
    if above(smallest_gap, gap) then gap = smallest_gap end
    given = lesser(plus(stands, gap), LARGEST)
  end
  if above(given, given_bare) then given_bare = given end
end
local write = {'HSET', key, field, stands, 'Name', state[8] or name, 'Written', (write_time(state[5] or '0'))}
for i, value in ipairs({epoch, ranges, given_bare}) do
  if above(value, state[i + 1] or '0') then
    write[#write + 1] = names[i + 1]
    write[#write + 1] = value
  end
end
if origin == '' and replication ~= '' then
  write[#write + 1] = 'Origin'
  write[#write + 1] = replication
end
redis.call('HDEL', key, 'Lease', 'Low') -- first, as the one that an ACL may lack
redis.call(unpack(write))
return {stands, state[1] or ''}
