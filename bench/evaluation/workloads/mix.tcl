# SPDX-License-Identifier: MIT
# Lists, dictionaries, strings and numbers; prints sums of all of it.
proc primes {n} {
  set sieve [lrepeat [expr {$n + 1}] 1]
  set count 0
  for {set i 2} {$i <= $n} {incr i} {
    if {![lindex $sieve $i]} continue
    incr count
    for {set j [expr {$i * $i}]} {$j <= $n} {incr j $i} { lset sieve $j 0 }
  }
  return $count
}
proc words {n} {
  for {set i 0} {$i < $n} {incr i} { dict incr seen "w[expr {$i * 7919 % 1009}]" [string length "x$i"] }
  set sum 0
  dict for {word times} $seen { incr sum [expr {[string range $word 1 end] * $times % 1000}] }
  return $sum
}
proc fib {n} { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
proc text {n} {
  set all {}
  for {set i 0} {$i < $n} {incr i} { lappend all [format %05x [expr {$i * 48271 % 65521}]] }
  set sorted [join [lsort $all] ,]
  regsub -all {[a-f]+} $sorted "" digits
  return [string length $digits]
}
puts "[primes 900000] [words 400000] [fib 22] [text 110000]"
