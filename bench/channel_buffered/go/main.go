// The work of ../workload.hpp over a Go channel.
package main

import support "handoff/bench/support/go"

func main() { support.MeasureFlow(1, support.Goroutines, support.ReceiveAll) }
