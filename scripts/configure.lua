-- configure.lua: makes the settings of a server, or changes them.
--
-- KEYS[1] -> {ns}/ServerPrefixForHilo  the server's settings
-- ARGV[1] -> verb: 'init' makes settings where there are none, 'set' changes those that there are
-- ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8] -> expected: what the caller read of ServerPrefix, NodeTag,
--            Identities, Durable, MinValue, MaxValue and NewCounters, '' for absent; unused with init
-- ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13], ARGV[14], ARGV[15] -> wanted: what to set them to, '' to remove
-- ARGV[16] -> initialized: the time to set Initialized to, if it is absent
--
-- Output: {'1'}
-- Errors: HILO_INITIALIZED if there are settings already, HILO_NOTSEEDED if there are none to change, HILO_CHANGED if they are not
-- what was read, or if Durable is set and a replica is connected or INFO is not permitted; HILO_CORRUPT, HILO_ARGUMENT. Nothing is
-- written.
--
-- Sent twice: the second time finds what the first wrote. It is refused unless the caller expects just that.

local key, verb, initialized = KEYS[1], ARGV[1], ARGV[16]
local names = {'ServerPrefix', 'NodeTag', 'Identities', 'Durable', 'MinValue', 'MaxValue', 'NewCounters'}
local allowed = {Identities = {here = true}, Durable = {everysec = true, always = true}, NewCounters = {no = true}}

if #ARGV ~= 16 or verb ~= 'init' and verb ~= 'set' or initialized == '' then
  return redis.error_reply('HILO_ARGUMENT configure wants 16 arguments, init or set first, and a time')
end
local now = {}
for i, name in ipairs(names) do
  local value, rule = ARGV[8 + i], allowed[name]
  now[name] = value
  if value ~= '' and (rule and not rule[value] or find(name, 'Value$') and (value == '0' or not decimal(value))) then
    return redis.error_reply('HILO_ARGUMENT configure was called with a bad ' .. name)
  end
end
if above(now.MinValue == '' and '1' or now.MinValue, now.MaxValue == '' and LARGEST or now.MaxValue) then
  return redis.error_reply('HILO_ARGUMENT configure wants a MinValue that is not above MaxValue')
end
if is_replica then return redis.error_reply(ON_REPLICA) end
local stored, err = fields(key, unpack(names))
if err then return err end
local there = redis.call('EXISTS', key) == 1
if verb == 'init' and there then
  return refusal('INITIALIZED', key, 'exists: the server has settings, which hilo settings get shows and hilo settings set changes')
elseif verb == 'set' and not there then
  return refusal('NOTSEEDED', key, 'does not exist: the server has no settings: hilo init if it is new; hilo help recover if it lost its data')
end
for i, name in ipairs(names) do
  if verb == 'set' and (stored[i] or '') ~= ARGV[1 + i] then
    return refusal('CHANGED', key, 'field ' .. name .. ' holds', stored[i] or '', 'it was ' .. (ARGV[1 + i] == '' and 'absent' or ARGV[1 + i]) ..
      ' when it was read; look again, and repeat the change')
  end
end
if now.Durable ~= '' and now.Durable ~= (stored[4] or '') then
  if info == '' then
    return refusal('CHANGED', key, 'gets no Durable: this user may not call INFO; permit +info')
  elseif find(info, 'slave%d+:[^\r]*port=[1-9]') then
    return refusal('CHANGED', key, 'gets no Durable: a replica is connected; detach it, or do without Durable')
  end
end

if not redis.call('HMGET', key, 'Initialized')[1] then redis.call('HSET', key, 'Initialized', initialized) end
for _, name in ipairs(names) do
  redis.call('HSET', key, name, now[name]) -- always, for a WAIT behind it, which covers this connection's writes
  if now[name] == '' then redis.call('HDEL', key, name) end
end
return {'1'}
