-- home.lua: whether the server says that it is the home of identities; put after server.lua where that is asked. It is
-- read by itself, because a field more in server.lua would cost each range 2 % of the server's time.

-- Whether it is, or nothing and an error to return as it is.
local function is_home()
  local home = redis.call('HMGET', server_key, 'Identities')[1]
  if home and home ~= 'here' then
    return nil, refusal('CORRUPT', server_key, 'field Identities holds', home, 'must be here, or absent')
  end
  return home == 'here'
end
