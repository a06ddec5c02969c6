-- describe.lua: what the server says of itself; it writes nothing.
--
-- KEYS[1], KEYS[2], KEYS[3] -> {ns}/ServerPrefixForHilo, three times, as server.lua has it
--
-- Output: {prefix, tag, '1' where it is the home of identities and else '0', replication id, '' where INFO is
-- not permitted}
-- Errors: HILO_CORRUPT.
--
-- Sent twice: replies twice.

local home, home_err = is_home()
if home_err then return home_err end
return {prefix, tag, home and '1' or '0', replication_id('asked')}
