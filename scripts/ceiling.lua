-- ceiling.lua: what is known of the disk and of other servers with the same data; put after server.lua where the ceiling of a
-- durable server is raised, permitted or foreseen.
--
-- Durable is a statement about one server with an append-only file. A write is known to be on disk only as INFO shows it.

-- Returns what keeps a write from being known to be on disk, and nil if nothing does. The second result is 'sync' or
-- 'rewrite' if that is one, which ends by itself. While a file is rewritten, and while that is scheduled, the file that a restart would load may lack the write.
local function obstacle()
  local persistence = redis.pcall('INFO', 'persistence') -- by itself: two sections fail before Redis 7.0
  if type(persistence) ~= 'string' or not find(persistence, 'aof_enabled:', 1, true) then
    return 'INFO persistence is not permitted: permit +info'
  elseif not find(persistence, 'aof_enabled:1\r', 1, true) then
    return 'the append-only file is off: CONFIG SET appendonly yes, also in the configuration file, or hilo settings set --durable none'
  elseif not find(persistence, 'aof_last_write_status:ok\r', 1, true) then
    return 'the append-only file could not be written: see to the disk and the log of the server'
  elseif not find(persistence, 'aof_rewrite_in_progress:0\r', 1, true) or not find(persistence, 'aof_rewrite_scheduled:0\r', 1, true) then
    return 'the append-only file is being rewritten: wait until that has ended', 'rewrite'
  elseif durable == 'everysec' and not find(persistence, 'aof_pending_bio_fsync:0\r', 1, true) then
    return 'a sync of the append-only file is pending', 'sync'
  end
end
