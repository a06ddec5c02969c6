-- decimal.lua: exact arithmetic over all of int64, put in front of every script that counts.
--
-- Lua numbers are doubles, exact only up to 2^53, so a value is kept as two of them:
-- {high, low} stands for high * 10^9 + low. Both halves, and sums of a few values, stay
-- far below 2^53. Values enter and leave as canonical decimal text; '%d' writes the halves
-- because tostring() turns to exponents on Redis.

local LARGEST = '9223372036854775807'

-- The value of a canonical decimal between 0 and 2^63-1; nil for anything else.
local function decimal(text)
  if text == '0' then return {0, 0} end
  if type(text) ~= 'string' or not string.find(text, '^[1-9]%d*$') then return nil end
  if #text <= 9 then return {0, tonumber(text)} end
  if #text > #LARGEST or (#text == #LARGEST and text > LARGEST) then return nil end
  return {tonumber(string.sub(text, 1, -10)), tonumber(string.sub(text, -9))}
end

local function to_text(value)
  if value[1] == 0 then return string.format('%d', value[2]) end
  return string.format('%d%09d', value[1], value[2])
end

local function plus(a, b)
  local high, low = a[1] + b[1], a[2] + b[2]
  if low >= 1000000000 then return {high + 1, low - 1000000000} end
  return {high, low}
end

-- a - b, where a is not below b.
local function minus(a, b)
  local high, low = a[1] - b[1], a[2] - b[2]
  if low < 0 then return {high - 1, low + 1000000000} end
  return {high, low}
end

local function above(a, b)
  return a[1] > b[1] or (a[1] == b[1] and a[2] > b[2])
end

local function greater(a, b)
  if above(a, b) then return a end
  return b
end

local function lesser(a, b)
  if above(a, b) then return b end
  return a
end

local ZERO, ONE, MOST = {0, 0}, {0, 1}, decimal(LARGEST)
