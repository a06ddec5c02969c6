-- permit.lua: makes a number the ceiling of a counter, once it is known to be on the disk of a durable server, and asks whether
-- the disk keeps up.
--
-- KEYS[1]          -> the counter, or KEYS[2] to ask only
-- KEYS[2], KEYS[3] -> {ns}/ServerPrefixForHilo  the server's settings
-- ARGV[1]          -> replication id in the reply of raise, '' for any
-- ARGV[2]          -> raised: the Raised of that reply; unused to ask only
--
-- Output: {replication id; the server's clock in milliseconds}
-- Errors: HILO_PENDING if a sync is, after which the same question may be asked again; HILO_NOTDURABLE if something else is in
-- the way, after which the first one has to be; HILO_CHANGED if the server is not durable any more, has another replication
-- id, or the counter lost its Raised, so that it has to be raised again; HILO_CORRUPT, HILO_ARGUMENT. Nothing is written.
--
-- Between a raise and its permit the client asks twice, and the permit is the third question. Each is sent after the one before
-- was answered, the first after the raise was, and the second 1.2 s after the first. If a sync began between the first and the
-- second, it covers the raise, and the second found none pending, so it has ended. If none began, the last one was more than a
-- second before the second question, so the server began one at the end of that turn, and it has ended at the third. WAITAOF
-- shows nothing: Valkey 8.1 and Redis 7.4 answer before they sync.
--
-- A seed and an import write no Raised, so their value becomes it, lest a later forced seed leaves a ceiling above it. A counter
-- without a ceiling whose Origin is another server's gets none: it has to jump, by the margin of the plain server that wrote it.
--
-- Sent twice, or late: what was on disk once stays there, so it does no harm.

local expected, raised = unpack(ARGV)
if #ARGV ~= 2 or not decimal(raised) then return redis.error_reply('HILO_ARGUMENT permit wants a replication id and a decimal') end
if is_replica then return redis.error_reply(ON_REPLICA) end
if durable == '' then return refusal('CHANGED', server_key, 'has no Durable any more') end
if find(info, 'slave%d+:[^\r]*port=[1-9]') then return refusal('CHANGED', server_key, 'is of a server that has a replica') end
if expected ~= '' and expected ~= replication then
  return refusal('CHANGED', key, 'was raised under another replication id than', replication, 'the server was restarted since')
end
local way, passing = obstacle()
if way then return refusal(passing == 'sync' and 'PENDING' or 'NOTDURABLE', key, 'is not known to be on disk: ' .. way) end
if key ~= server_key then
  local read, err = fields(key, 'Raised', 'Ceiling', 'Max', 'Value', 'Origin')
  if err then return err end
  for i = 1, 4 do
    if read[i] and not decimal(read[i]) then return refusal('CORRUPT', key, 'holds', read[i], DECIMAL) end
  end
  local stands = read[3] or read[4]
  if not stands or above(raised, read[1] or '0') and above(raised, stands) then
    return refusal('CHANGED', key, 'lost its Raised of', raised, 'the counter was deleted, or written anew')
  end
  if not read[2] and read[5] and read[5] ~= replication then return {replication, (write_time('0'))} end
  if above(raised, read[1] or '0') then redis.call('HSET', key, 'Raised', raised) end
  if not read[2] or above(raised, read[2]) then redis.call('HSET', key, 'Ceiling', raised) end
end
return {replication, (write_time('0'))}
