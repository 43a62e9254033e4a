// The work of ../workload.hpp with Go's select.
package main

import support "handoff/bench/support/go"

func main() { support.MeasureFlow(4, support.Goroutines, support.SelectAll) }
