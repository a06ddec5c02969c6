-- configure.lua: sets all values of the server's own key at once.
--
-- KEYS[1] -> {ns}/ServerPrefixForHilo  the server's prefix, node tag, home flag and Durable
-- ARGV[1] -> prefix, '' for none
-- ARGV[2] -> tag, '' for none
-- ARGV[3] -> home: 'here' if the server is the home of identities, '' if it is not
-- ARGV[4] -> durable: 'always' sets Durable, '' removes it, 'keep' leaves it as it is
-- ARGV[5] -> expected_replication: replication id under which every counter was settled; used if Durable is set
--
-- Output: {'1'}
-- Errors: HILO_CORRUPT, HILO_CHANGED, HILO_ARGUMENT; nothing is written.
--
-- With Durable, an Origin other than the server's id is no evidence of lost writes, so no counter may have such an Origin
-- when it is set. The caller settles all counters first. It reads the replication id, and takes a number of each counter
-- with another Origin, which jumps. This script checks, in the same step as the write, that the server was not restarted
-- or promoted since, and that no replica is connected.
--
-- Sent twice: the second time sets the same again.

local key = KEYS[1]
local prefix, tag, home, durable, expected_replication = unpack(ARGV)

if (home ~= '' and home ~= 'here') or (durable ~= '' and durable ~= 'keep' and durable ~= 'always') then
  return redis.error_reply('HILO_ARGUMENT configure wants here or nothing as home, and always, keep or nothing as durable')
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local _, err = fields(key, 'Durable')
if err then return err end
if durable == 'always' then
  if replication ~= expected_replication then
    return refusal('CHANGED', key, 'gets no Durable: the replication id is not the one under which the counters were settled',
      replication, 'must be ' .. expected_replication)
  end
  if not find(info, 'connected_slaves:0\r', 1, true) then
    return refusal('CHANGED', key, 'gets no Durable: a replica is connected, or INFO replication does not show that none is')
  end
end

local function set(name, value)
  redis.call('HSET', key, name, value) -- always, for a WAIT behind it, which covers this connection's writes
  if value == '' then redis.call('HDEL', key, name) end
end
if durable ~= 'keep' then set('Durable', durable) end
set('ServerPrefix', prefix)
set('NodeTag', tag)
set('Identities', home)
return {'1'}
