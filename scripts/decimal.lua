-- decimal.lua: exact arithmetic over all of int64, put in front of every script.
--
-- Lua numbers are doubles, exact only up to 2^53, so a value stays the canonical decimal text that is stored and sent.
-- Values are compared by length, then as text. A sum is computed with doubles if both terms are short, and else in two
-- halves, high * 10^9 + low, which stay far below 2^53. '%.0f' formats a whole double, because tostring() switches to
-- exponents on Redis, and '%d' is a C long, which ends at 2^31 on a 32-bit server.

local find, sub, format = string.find, string.sub, string.format

local LARGEST = '9223372036854775807'

-- Reports whether text is a canonical decimal between 0 and 2^63-1.
local function decimal(text)
  return text == '0' or text and find(text, '^[1-9]%d*$') and (#text < 19 or #text == 19 and text <= LARGEST)
end

local function above(a, b)
  if #a ~= #b then return #a > #b end
  return a > b
end

-- Returns a + sign * b, which must not be below 0.
local function sum(a, b, sign)
  if #a < 16 and #b < 16 then return format('%.0f', a + sign * b) end
  local high = (tonumber(sub(a, 1, -10)) or 0) + sign * (tonumber(sub(b, 1, -10)) or 0)
  local low = tonumber(sub(a, -9)) + sign * tonumber(sub(b, -9))
  if low >= 1000000000 then high, low = high + 1, low - 1000000000 end
  if low < 0 then high, low = high - 1, low + 1000000000 end
  if high == 0 then return format('%.0f', low) end
  return format('%.0f%09.0f', high, low)
end

-- Returns a + b, at most LARGEST. Most terms are short, and '%d' takes half the time of '%.0f'.
local function plus(a, b)
  if #a < 10 and #b < 10 then return format('%d', a + b) end -- below 2^31
  local total = sum(a, b, 1)
  if above(total, LARGEST) then return LARGEST end
  return total
end
