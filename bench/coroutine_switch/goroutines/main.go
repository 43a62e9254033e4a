// The work of ../workload.hpp with two goroutines on one thread that call runtime.Gosched.
package main

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"time"

	support "handoff/bench/support/go"
)

func main() {
	switches := flag.Uint64("switches", 2_000_000, "")
	flag.Parse()
	runtime.GOMAXPROCS(1)

	each := *switches / 2
	changes, last := uint64(0), -1
	var running sync.WaitGroup
	running.Add(2)
	began := time.Now()
	for who := 0; who < 2; who++ {
		who := who
		go func() {
			for i := uint64(0); i < each; i++ {
				if who != last {
					changes++
				}
				last = who
				runtime.Gosched()
			}
			running.Done()
		}()
	}
	running.Wait()
	nanoseconds := float64(time.Since(began).Nanoseconds())
	// Every 61st time Go looks first at the queue into which the one that yields has just gone.
	if changes < 2*each-2*each/20 {
		support.Fail(fmt.Sprintf("of %d turns only %d changed hands", 2*each, changes))
	}
	support.PrintResult(map[string]any{
		"switches": *switches,
		"ns_each":  nanoseconds / float64(*switches),
	})
}
