-- SPDX-License-Identifier: MIT
-- Tables, closures, strings and floating point; prints sums of all of it.
local function primes(n)
  local sieve, count = {}, 0
  for i = 2, n do sieve[i] = true end
  for i = 2, n do
    if sieve[i] then
      count = count + 1
      for j = i * i, n, i do sieve[j] = false end
    end
  end
  return count
end

local function words(n)
  local seen, total = {}, 0
  for i = 1, n do
    local word = string.format("%x-%d", (i * 2654435761) % 65536, i % 97):rep(2)
    seen[word] = (seen[word] or 0) + 1
    total = total + #word:gsub("%d", "x")
  end
  local distinct = 0
  for _ in pairs(seen) do distinct = distinct + 1 end
  return total + distinct
end

local Point = {}
Point.__index = Point
Point.__add = function(a, b) return setmetatable({x = a.x + b.x, y = a.y * 0.5 + b.y}, Point) end
local function points(n)
  local sum = setmetatable({x = 0, y = 0}, Point)
  for i = 1, n do sum = sum + setmetatable({x = i % 7, y = i % 11}, Point) end
  return string.format("%d %.6f", sum.x, sum.y)
end

local function queens(n, row, columns, up, down)
  if row > n then return 1 end
  local found = 0
  for c = 1, n do
    if not (columns[c] or up[row + c] or down[row - c + n]) then
      columns[c], up[row + c], down[row - c + n] = true, true, true
      found = found + queens(n, row + 1, columns, up, down)
      columns[c], up[row + c], down[row - c + n] = nil, nil, nil
    end
  end
  return found
end

for _ = 1, tonumber(arg[1] or 1) do print(primes(2000000), words(300000), points(1200000), queens(9, 1, {}, {}, {})) end
