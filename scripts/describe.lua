-- describe.lua: reports the server's settings.
--
-- KEYS[1], KEYS[2], KEYS[3] -> {ns}/ServerPrefixForHilo, three times
--
-- Output: {prefix; tag; '1' if it is the home of identities, else '0'; replication id, '' if INFO is not permitted; durable;
-- min_value; max_value}
--   durable                '' if the server has no Durable, else its value, or 'replica' if one is connected, so that it is not true
--   min_value, max_value   '1' and 2^63-1 where they are not set
-- Errors: HILO_CORRUPT.
--
-- It writes nothing, and replicas reply too. Sent twice: it replies twice. The loader defines WRITE. With it the script replies as
-- one that writes would: a replica that accepts writes refuses it. Sent with a first line "#!lua", which declares no flags, it is
-- also refused by the server as a write would be (READONLY, NOREPLICAS, OOM, MISCONF), before it runs.

if WRITE and is_replica then return redis.error_reply(ON_REPLICA) end
if durable ~= '' and find(info, 'slave%d+:[^\r]*port=[1-9]') then durable = 'replica' end
return {prefix, tag, home and '1' or '0', replication, durable, min_value, max_value}
