// The work of ../workload.hpp over time.AfterFunc and Stop.
package main

import (
	"flag"
	"fmt"
	"math/rand"
	"runtime"
	"sync/atomic"
	"time"

	support "handoff/bench/support/go"
)

func main() {
	count := flag.Int("timers", 1_000_000, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	random := rand.New(rand.NewSource(42))
	delays := make([]time.Duration, *count)
	for i := range delays {
		delays[i] = time.Minute + time.Duration(random.Int63n(int64(59*time.Minute)))
	}
	timers := make([]*time.Timer, *count)
	var fired atomic.Uint64

	began := time.Now()
	for i, delay := range delays {
		timers[i] = time.AfterFunc(delay, func() { fired.Add(1) })
	}
	armed := time.Now()
	cancelled := 0
	for _, timer := range timers {
		if timer.Stop() {
			cancelled++
		}
	}
	ended := time.Now()

	if cancelled != *count || fired.Load() != 0 {
		support.Fail(fmt.Sprintf("armed %d timers, cancelled %d, fired %d", *count, cancelled, fired.Load()))
	}
	support.PrintResult(map[string]any{
		"timers":    *count,
		"arm_ns":    float64(armed.Sub(began).Nanoseconds()) / float64(*count),
		"cancel_ns": float64(ended.Sub(armed).Nanoseconds()) / float64(*count),
	})
}
