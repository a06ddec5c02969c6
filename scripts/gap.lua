-- gap.lua: computes the gap of a jump without a request; put after guard.lua.

-- Returns the end of the gap above value: the least gap, or twice the tallies.
local function past(value, least, tally)
  local gap = plus(tally, tally)
  if above(least, gap) then gap = least end
  return plus(value, gap)
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
