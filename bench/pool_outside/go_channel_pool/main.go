// The work of ../workload.hpp over goroutines that take functions from a channel.
package main

import (
	"flag"
	"runtime"
	"time"

	support "handoff/bench/support/go"
)

func main() {
	jobs := flag.Uint64("jobs", 5_000_000, "")
	milliseconds := flag.Int64("milliseconds", 500, "")
	workers := flag.Int("workers", 2, "")
	capacity := flag.Int("capacity", 1024, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	pool := support.NewChannelPool(*workers, *capacity)

	watch := support.StartJobs()
	deadline := time.Now().Add(time.Duration(*milliseconds) * time.Millisecond)
	posted := uint64(0)
	for posted < *jobs {
		pool.Post(func() {})
		posted++
		if posted%support.JobsPerLookAtTheClock == 0 && !time.Now().Before(deadline) {
			break
		}
	}
	ran := pool.Finish()
	watch.Stop()
	support.CheckJobs(posted, 0, ran, 0)
	watch.PrintRate(posted)
}
