-- check.lua: reports whether the next request for a counter would be refused.
--
-- KEYS[1], KEYS[2], KEYS[3] -> of next, or {ns}/ServerPrefixForHilo three times for no counter
-- ARGV[1] -> limit: greatest number that may ever be issued
-- ARGV[2] -> require_seeded: '1' makes a missing counter an error
-- ARGV[3] -> max_lag: seconds since a replica has last reported to this server, above which it does not count
--
-- Output: {replicas}, the number of replicas that follow, '' if INFO is not permitted
-- Errors: HILO_ARGUMENT, HILO_CORRUPT, HILO_EXHAUSTED, HILO_NOTSEEDED, HILO_MIXED, HILO_UNGUARDED, and READONLY of a replica.
--
-- It writes nothing. Sent with a first line "#!lua", which declares no flags, it is refused by the server as a write would
-- be (READONLY, NOREPLICAS, OOM, MISCONF), before it runs. A jump for which there is no room, and what a client knows of the
-- counter, are not foreseen. Sent twice: it replies twice.

local limit, require_seeded, max_lag = unpack(ARGV)
if #ARGV ~= 3 or not (decimal(limit) and decimal(max_lag)) then return redis.error_reply('HILO_ARGUMENT want 3 arguments with decimals') end
if is_replica then return redis.error_reply(ON_REPLICA) end

if key ~= server_key then
  local names = {'Max', 'Low', 'Ranges', 'Epoch', 'Minute', 'Issued', 'IssuedBefore', 'Bare', 'Written', 'Top', 'Lease', 'Origin'}
  local read, err = fields(key, unpack(names))
  if err then return err end
  local max = read[1]
  for i = 1, #names do
    if read[i] and read[i] ~= '' and not max then
      return refusal('CORRUPT', key, 'has no Max, yet numbers were issued; seed it above all that was issued')
    elseif read[i] and i <= 10 and not decimal(read[i]) then
      return refusal('CORRUPT', key, 'field ' .. names[i] .. ' holds', read[i], DECIMAL)
    end
  end
  if not max and require_seeded == '1' then
    return refusal('NOTSEEDED', key, 'does not exist and RequireSeeded is set; seed it above all that was issued')
  end
  if read[12] and read[12] ~= '' and replication == '' then
    return refusal('UNGUARDED', key, 'has an Origin to compare with INFO; permit +info, or remove the field Origin if no user may call INFO')
  end
  local start, limit_name = sum(min_value, '1', -1), 'the limit'
  if not max or above(start, max) then max = start end
  if not above(max_value, limit) then limit, limit_name = max_value, 'MaxValue of ' .. server_key end
  if not above(limit, max) then return refusal('EXHAUSTED', key, 'stands at ' .. max .. ' and ' .. limit_name .. ' is ' .. limit) end
end

if replication == '' then return {''} end
local count = 0
for lag in string.gmatch(info, 'slave%d+:[^\r]*state=online[^\r]*lag=(%d+)') do
  if not above(lag, max_lag) then count = count + 1 end
end
return {format('%d', count)} -- below 2^31
