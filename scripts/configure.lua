-- configure.lua: sets all values of the server's own key at once.
--
-- KEYS[1] -> {ns}/ServerPrefixForHilo  the server's settings
-- ARGV[1] -> prefix, '' for none
-- ARGV[2] -> tag, '' for none
-- ARGV[3] -> home: 'here' if the server is the home of identities, '' if it is not
-- ARGV[4] -> durable: 'always' or 'replicas:N' sets Durable, '' removes it, 'keep' leaves it as it is
-- ARGV[5] -> expected_replication: replication id under which every counter was settled; used if Durable is set
-- ARGV[6] -> min_value, '' for none
-- ARGV[7] -> max_value, '' for none
--
-- Output: {'1'}
-- Errors: HILO_CORRUPT, HILO_CHANGED, HILO_ARGUMENT; nothing is written.
--
-- With Durable, an Origin other than the server's id is no evidence of lost writes, or of few, so no counter may have such
-- an Origin when it is set. The caller settles all counters first. It reads the replication id, and takes a number of each
-- counter with another Origin, which jumps. This script checks, in the same step as the write, that the server was not
-- restarted or promoted since, and that no replica is connected, or with replicas:N that N are.
--
-- DurableReplicas is the number of replicas that were connected when Durable was set to replicas:N. While fewer are, one of
-- them still has the word, so that the caller does not take it back.
--
-- Sent twice: the second time sets the same again.

local key = KEYS[1]
local prefix, tag, home, durable, expected_replication, min_value, max_value = unpack(ARGV)
local replicas = string.match(durable or '', '^replicas:([1-9]%d?%d?)$')

if #ARGV ~= 7 or (home ~= '' and home ~= 'here') or
    (durable ~= '' and durable ~= 'keep' and durable ~= 'always' and not replicas) then
  return redis.error_reply('HILO_ARGUMENT configure wants 7 arguments, here or nothing as home, and always, replicas:N, ' ..
    'keep or nothing as durable')
end
for _, value in ipairs({min_value, max_value}) do
  if value ~= '' and (value == '0' or not decimal(value)) then
    return redis.error_reply('HILO_ARGUMENT configure wants decimals of 1 or more, or nothing, as MinValue and MaxValue')
  end
end
if above(min_value == '' and '1' or min_value, max_value == '' and LARGEST or max_value) then
  return redis.error_reply('HILO_ARGUMENT configure wants a MinValue that is not above MaxValue')
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local _, err = fields(key, 'Durable')
if err then return err end
if durable == 'always' or replicas then
  if replication ~= expected_replication then
    return refusal('CHANGED', key, 'gets no Durable: the replication id is not the one under which the counters were settled',
      replication, 'must be ' .. expected_replication)
  end
  local connected = string.match(info, 'connected_slaves:(%d+)\r') or ''
  if replicas and (connected == '' or above(replicas, connected)) then
    return refusal('CHANGED', key, 'gets no Durable: the number of replicas that INFO replication shows is', connected,
      'must be ' .. replicas .. ' or more')
  end
  if not replicas and connected ~= '0' then
    return refusal('CHANGED', key, 'gets no Durable: a replica is connected, or INFO replication does not show that none is')
  end
end

local function set(name, value)
  redis.call('HSET', key, name, value) -- always, for a WAIT behind it, which covers this connection's writes
  if value == '' then redis.call('HDEL', key, name) end
end
if durable ~= 'keep' then
  set('Durable', durable)
  set('DurableReplicas', replicas and string.match(info, 'connected_slaves:(%d+)\r') or '')
end
set('MinValue', min_value)
set('MaxValue', max_value)
set('ServerPrefix', prefix)
set('NodeTag', tag)
set('Identities', home)
return {'1'}
