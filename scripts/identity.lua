-- identity.lua: takes the next values of an identity, or of the counter of server-side identifiers.
--
-- KEYS[1]  -> {ns}/Identities/<name> or {ns}/ServerSide  the identity
-- KEYS[2]  -> {ns}/ServerPrefixForHilo                   the server's prefix and node tag, and whether it is the home
-- KEYS[3]  -> {ns}/HiLo/<name>                           the counter of the same name, only read; KEYS[2] again
--                                                        where there is none, as for server-side identifiers
-- ARGV[1]  -> token of this request, unique
-- ARGV[2]  -> how many consecutive values, 1 or more
-- ARGV[3]  -> limit, the greatest value ever to be issued
-- ARGV[4]  -> floor, the greatest value this client was given; 0: none
-- ARGV[5]  -> the greatest epoch that this client saw of the identity; 0: none
-- ARGV[6]  -> guard gap; 0: computed here
-- ARGV[7]  -> least gap that the client knows to be needed; used where the gap is computed
-- ARGV[8]  -> the name as the caller spells it
-- ARGV[9]  -> '1': a missing identity is an error
-- ARGV[10] -> '1': a server with neither prefix nor tag gives nothing
-- ARGV[11] -> how often the identity had been lowered by force when the floor was given
-- ARGV[12] -> the very value to take, in place of the next ones, if none as great was given before; 0: the next ones
-- ARGV[13] -> '1': also where the server has a prefix or tag and does not say that it is the home of identities
--
-- Output: as next.lua's, with another last item: how often the identity was lowered by force. Asked for a very
-- value it replies low '0' and writes nothing when that or a greater one was given before, or when writes may
-- have been lost, so that nobody can tell.
-- Errors: as next.lua's, and HILO_ELSEWHERE; nothing is written.
--
-- Sent twice: it takes other values, the first ones are a gap; a very value is refused.

local very = ARGV[12]
if not (decimal(very) and decimal(ARGV[11])) then
  return redis.error_reply('HILO_ARGUMENT identity wants the value to take, and how often it was lowered, as decimals')
end

if other_key ~= server_key then
  -- Identities have no prefix, so all of a name come from one server, which says itself that it is the one.
  local home, home_err = is_home()
  if home_err then return home_err end
  if not (bare or home or ARGV[13] == '1') then
    return refusal('ELSEWHERE', key, 'may not be used: the server has a prefix or node tag and does not say that it is the ' ..
      'home of identities; one of all servers says so, by the field Identities of', server_key, 'here')
  end
  -- What a collection of this name gave without prefix and tag is the same text.
  local other, other_err = fields(other_key, 'Bare')
  if other_err then return other_err end
  if other[1] then
    if not decimal(other[1]) then return refusal('CORRUPT', other_key, 'field Bare holds', other[1], DECIMAL) end
    if above(other[1], base) then base = other[1] end
  end
end

local low, high, issue, more, last = plus(base, '1'), plus(base, wanted), wanted, {}, own_value
if very ~= '0' then
  low, high, issue = very, very, '1'
  if evidence ~= '' or not above(very, base) then
    low, high, issue, evidence, jump, epoch = '0', max, nil, '', '0', read[4]
  end
end
if issue and above(high, limit) then
  return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and the limit is ' .. limit)
end
