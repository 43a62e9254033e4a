// The work of ../workload.hpp over a Go channel, each goroutine on a thread of its own.
package main

import support "handoff/bench/support/go"

func main() { support.MeasureFlow(1, support.LockedGoroutines, support.ReceiveAll) }
