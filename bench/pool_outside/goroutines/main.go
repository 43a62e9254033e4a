// The work of ../workload.hpp with a goroutine for each job. The WaitGroup counts: it ends only when all have run.
package main

import (
	"flag"
	"runtime"
	"sync"
	"time"

	support "handoff/bench/support/go"
)

func main() {
	jobs := flag.Uint64("jobs", 5_000_000, "")
	milliseconds := flag.Int64("milliseconds", 500, "")
	workers := flag.Int("workers", 2, "")
	flag.Int("capacity", 1024, "not used: nothing bounds the number of goroutines")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	watch := support.StartJobs()
	deadline := time.Now().Add(time.Duration(*milliseconds) * time.Millisecond)
	var running sync.WaitGroup
	posted := uint64(0)
	for posted < *jobs {
		running.Add(1)
		go func() { running.Done() }()
		posted++
		if posted%support.JobsPerLookAtTheClock == 0 && !time.Now().Before(deadline) {
			break
		}
	}
	running.Wait()
	watch.Stop()
	watch.PrintRate(posted)
}
