-- raising.lua: what a seed and an import share, for values that no request for numbers writes; put after server.lua.

-- Only an initialised server has the settings that decide what a value means there.
if redis.call('EXISTS', server_key) == 0 then
  return refusal('NOTSEEDED', key, 'may not be seeded: the server has no settings: hilo init if it is new; hilo help recover if it lost its data')
end

-- Refuses a value that a seed or an import may not write, or returns nil.
local function beyond(value)
  if above(value, max_value) then
    return refusal('EXHAUSTED', key, 'may not be raised above MaxValue of ' .. server_key .. ', ' .. max_value .. ', to', value,
      'it would issue nothing more')
  end
end

-- Returns where a counter with a value stands, which is at MinValue-1 or above.
local function standing(value)
  local start = sum(min_value, '1', -1)
  return above(start, value) and start or value
end
