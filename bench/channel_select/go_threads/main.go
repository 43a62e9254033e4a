// The work of ../workload.hpp with Go's select, each goroutine on a thread of its own.
package main

import support "handoff/bench/support/go"

func main() { support.MeasureFlow(4, support.LockedGoroutines, support.SelectAll) }
