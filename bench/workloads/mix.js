// SPDX-License-Identifier: MIT
// Objects, closures, regular expressions, arrays and JSON; ECMAScript 5.
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
function tree(depth) { return depth ? { l: tree(depth - 1), r: tree(depth - 1), v: depth } : null; }
function sum(t) { return t ? t.v + sum(t.l) + sum(t.r) : 0; }
var words = {}, text = '', i;
for (i = 0; i < 6000; ++i) text += ((i * 7919) % 1009).toString(36) + (i % 13 ? ' ' : ', ');
for (i = 0; i < 40; ++i) text.replace(/([a-z0-9]+)[, ]/g, function (all, word) { words[word] = (words[word] || 0) + 1; return all; });
var sorted = Object.keys(words).sort(function (a, b) { return words[b] - words[a] || (a < b ? -1 : 1); });
var numbers = [];
for (i = 0; i < 120000; ++i) numbers.push((i * 104729) % 65537);
numbers.sort(function (a, b) { return a - b; });
var round = JSON.parse(JSON.stringify({ words: words, tree: tree(8), numbers: numbers.slice(0, 500) }));
print(fib(26), sum(tree(15)), sorted.slice(0, 5).join(), numbers[777], JSON.stringify(round).length);
