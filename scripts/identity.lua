-- identity.lua: takes the next values of an identity, or of the counter of server-side identifiers.
--
-- KEYS[1] -> {ns}/Identities/<name> or {ns}/ServerSide  the identity
-- KEYS[2] -> {ns}/ServerPrefixForHilo                   the server's prefix and node tag
-- KEYS[3] -> {ns}/HiLo/<name>                           the counter of the same name, only looked for; KEYS[2] again
--                                                       where there is none to look for
-- ARGV[1] -> 'next' or 'raise'
-- ARGV[2] -> next: how many consecutive values, 1 or more; raise: the one value to take
-- ARGV[3] -> limit, the greatest value ever to be issued
-- ARGV[4] -> floor, the greatest value this client was given; 0: none
-- ARGV[5] -> guard gap; 0: computed here
-- ARGV[6] -> least gap that the client knows to be needed; used where the gap is computed
-- ARGV[7] -> '1': a missing identity is an error
-- ARGV[8] -> the name as the caller spells it
-- ARGV[9] -> how often the identity had been lowered by force when the floor was given
--
-- Output: as next.lua's. raise replies low '0' and writes nothing when the value or a greater one was
-- given before, or when writes may have been lost, so that nobody can tell.
-- Errors: HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: next takes other values, the first ones are a gap; raise is refused.

local key, server_key, other_key = KEYS[1], KEYS[2], KEYS[3]
local verb, name = ARGV[1], ARGV[8]
local wanted, limit, floor = decimal(ARGV[2]), decimal(ARGV[3]), decimal(ARGV[4])
local guard_gap, least_gap = decimal(ARGV[5]), decimal(ARGV[6])
local require_seeded, lowered = ARGV[7] == '1', decimal(ARGV[9])

if not (wanted and limit and lowered and floor and guard_gap and least_gap) or not above(wanted, ZERO) or (verb ~= 'next' and verb ~= 'raise') then
  return redis.error_reply('HILO_ARGUMENT identity wants next or raise, a value of 1 or more, limit, floor and gaps as decimals')
end

local identity, err = read_counter(key, 'Value')
if err then return err end
local server
server, err = server_prefix(server_key)
if err then return err end
if other_key ~= server_key then
  err = mixed(server, key, other_key)
  if err then return err end
end
if identity.missing and require_seeded then return not_seeded(key) end
if above(identity.lowered, lowered) then floor = ZERO end

if verb == 'raise' then
  guard(identity, floor, guard_gap, least_gap, ONE)
  if identity.evidence ~= '' or not above(wanted, identity.max) then
    identity.evidence, identity.jump = '', ZERO
    return given(identity, server, ZERO, identity.max)
  end
  if above(wanted, limit) then return exhausted(identity, limit) end
  write_counter(identity, wanted, ONE, name, {})
  return given(identity, server, wanted, wanted)
end

guard(identity, floor, guard_gap, least_gap, wanted)
local high = plus(identity.base, wanted)
if above(high, limit) then return exhausted(identity, limit) end
write_counter(identity, high, wanted, name, {})
return given(identity, server, plus(identity.base, ONE), high)
