-- describe.lua: reports the values of the server's own key.
--
-- KEYS[1], KEYS[2], KEYS[3] -> {ns}/ServerPrefixForHilo, three times
--
-- Output: {prefix; tag; '1' if it is the home of identities, else '0'; replication id, '' if INFO is not permitted;
-- durable; min_value; max_value; replicas}
--   durable  '' if the server has no Durable; 'always' if a counter with another Origin lost nothing; else why such a
--            counter jumps and the field is removed, 'replica', 'history', 'aof' or 'cluster', as in next
--   min_value, max_value, replicas  '1', 2^63-1 and '0' where they are not set
-- Errors: HILO_CORRUPT.
--
-- It writes nothing, and replicas reply too. Sent twice: it replies twice.

local _, state = lost_since('another', replication, info, durable)
return {prefix, tag, home and '1' or '0', replication, state, min_value, max_value, replicas}
