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
-- Output: as next.lua's, with another last item: how often the identity was lowered by force. raise replies
-- low '0' and writes nothing when the value or a greater one was given before, or when writes may have been
-- lost, so that nobody can tell.
-- Errors: HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_MIXED, HILO_ARGUMENT; nothing is written.
--
-- Sent twice: next takes other values, the first ones are a gap; raise is refused.

local verb = ARGV[1]
if (verb ~= 'next' and verb ~= 'raise') or not decimal(ARGV[9]) then
  return redis.error_reply('HILO_ARGUMENT identity wants next or raise, and a decimal at the end')
end

local low, high, issue, more, last = plus(base, '1'), plus(base, wanted), wanted, {}, own_value
if verb == 'raise' then
  low, high, issue = wanted, wanted, '1'
  if evidence ~= '' or not above(wanted, max) then
    low, high, issue, evidence, jump, epoch = '0', max, nil, '', '0', read[4]
  end
end
if issue and above(high, limit) then
  return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and the limit is ' .. limit)
end
