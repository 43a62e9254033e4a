// The work of ../workload.hpp with goroutines. Memory is heap and stacks in use.
package main

import (
	"flag"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	support "handoff/bench/support/go"
)

func main() {
	coroutines := flag.Uint64("coroutines", 100_000, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	debug.SetGCPercent(-1) // BytesInUse collects.

	var begun, ran, sum atomic.Uint64
	var running sync.WaitGroup
	running.Add(int(*coroutines))
	channel := make(chan uint64)
	before := support.BytesInUse()
	for i := uint64(0); i < *coroutines; i++ {
		go func() {
			begun.Add(1)
			sum.Add(<-channel)
			ran.Add(1)
			running.Done()
		}()
	}
	for begun.Load() < *coroutines {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // The last of them are about to wait.
	after := support.BytesInUse()
	for item := uint64(1); item <= *coroutines; item++ {
		channel <- item
	}
	running.Wait()
	support.CheckJobs(*coroutines, *coroutines*(*coroutines+1)/2, ran.Load(), sum.Load())
	support.PrintResult(map[string]any{
		"coroutines":          *coroutines,
		"bytes_per_coroutine": float64(after-before) / float64(*coroutines),
	})
}
