// SPDX-License-Identifier: MIT
// Objects, strings, comprehensions and recursion; evaluates to sums of all of it.
local fib(n) = if n < 2 then n else fib(n - 1) + fib(n - 2);
local person(i) = { id: i, name: 'n%x' % (i * 7919 % 65536), tags: ['t%d' % (i % 7), 't%d' % (i % 3)], twice: self.id * 2 };
local people = [person(i) for i in std.range(1, 130)];
{
  fib: fib(17),
  sum: std.foldl(function(a, p) a + p.twice, people, 0),
  names: std.length(std.set([p.name for p in people])),
  first: std.sort([p.name for p in people])[0:5],
  text: std.length(std.join(',', [std.asciiUpper(p.name) for p in people])),
}
