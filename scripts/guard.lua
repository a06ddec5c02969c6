-- guard.lua: decides whether writes may have been lost; put after server.lua and replication.lua.
--
-- If the server's Durable is contradicted, durable becomes the reason, and the script removes the field before it writes
-- anything else.

local RANGE_GAP, IDENTITY_GAP = '65536', '1024'

-- Durable states that this server's data is nowhere else, and a connected replica has it.
if durable == 'always' and find(info, 'connected_slaves:', 1, true) and not find(info, 'connected_slaves:0\r', 1, true) then
  durable = 'replica'
end

-- Reports whether writes may have been lost since the counter with this Origin was written, because the server was
-- restarted or promoted since. Every comparison of an Origin is made here. The second result is the new value of durable.
--
-- Durable waives that for a server that was restarted from its own AOF, which has every acknowledged write. It is accepted
-- only as far as INFO agrees, by three fields. The server has no past history, which a promoted replica has, and so has a
-- server that had a replica and is restarted from an RDB file. It has no replica, because the first one to attach changes
-- the id and clears the history. The AOF is on. These do not prove such a restart, so Durable has to state the rest. A
-- promoted replica also loses its history when repl-backlog-ttl passes, and an AOF may have been off for a while. A field
-- that INFO does not show does not agree. (Arguments are cheaper than upvalues, by 1 % of the server's time each.)
local function lost_since(origin, replication, info, durable)
  if origin == '' or origin == replication then return false, durable end
  if durable ~= 'always' or replication == '' then return true, durable end
  local persistence = redis.pcall('INFO', 'persistence') -- by itself: two sections fail before Redis 7.0
  if not find(info, 'connected_slaves:0\r', 1, true) or
      not find(info, 'master_replid2:0000000000000000000000000000000000000000\r', 1, true) then
    return true, 'history'
  end
  if type(persistence) ~= 'string' or not find(persistence, 'aof_enabled:1\r', 1, true) then return true, 'aof' end
  local cluster = redis.pcall('INFO', 'cluster') -- where a slot takes the field to a server that it was not set for
  if type(cluster) == 'string' and find(cluster, 'cluster_enabled:1', 1, true) then return true, 'cluster' end
  return false, durable
end
