-- replication.lua: reads INFO replication; put after state.lua where the replication id is needed.
--
-- Leaves info, the text, and replication, the server's replication id, which changes when a server restarts and when a
-- replica is promoted. Both are '' where INFO is not permitted. Leaves is_replica.

local info = redis.pcall('INFO', 'replication')
if type(info) ~= 'string' then info = '' end
local _, label = find(info, 'master_replid:', 1, true) -- a pattern would take seven times as long
local replication = label and string.match(info, '^%x+', label + 1) or ''

-- The error of a replica that accepts writes (replica-read-only no). Such a replica has the replication id of its primary,
-- which issues the same numbers, so nothing else would show that they are two servers.
local is_replica = find(sub(info, 1, 40), 'role:slave', 1, true)
local ON_REPLICA = 'READONLY numbers are not issued by a replica, even one that accepts writes'
