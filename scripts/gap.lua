-- gap.lua: computes the gap of a jump without a request; put after guard.lua.

-- Returns the end of the gap above value: the least gap, the greatest GuardGap that was sent, or twice the tallies.
local function past(value, least, guard_gap, tally)
  local gap = plus(tally, tally)
  if above(least, gap) then gap = least end
  if above(guard_gap, gap) then gap = guard_gap end
  return plus(value, gap)
end
