// The work of ../workload.hpp over goroutines that take functions from a channel. Memory is heap and stacks in use.
package main

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"

	support "handoff/bench/support/go"
)

var sum atomic.Uint64

func postSmallJobs(pool *support.ChannelPool, jobs uint64) {
	for i := uint64(1); i <= jobs; i++ {
		number, twice := i, 2*i
		pool.Post(func() { sum.Add(number + twice) })
	}
}

func bytesPerQueuedJob(workers int, jobs uint64) float64 {
	sum.Store(0)
	before := support.BytesInUse()
	pool := support.NewChannelPool(workers, int(jobs))
	gate := make(chan struct{})
	var blocked sync.WaitGroup
	blocked.Add(workers)
	for i := 0; i < workers; i++ {
		pool.Post(func() {
			blocked.Done()
			<-gate
		})
	}
	blocked.Wait()
	postSmallJobs(pool, jobs)
	after := support.BytesInUse()
	close(gate)
	ran := pool.Finish() - uint64(workers)
	support.CheckJobs(jobs, support.SumOfJobs(jobs), ran, sum.Load())
	return float64(after-before) / float64(jobs)
}

func allocationsPerJob(workers, capacity int, jobs uint64) float64 {
	sum.Store(0)
	pool := support.NewChannelPool(workers, capacity)
	postSmallJobs(pool, jobs)
	before := support.Allocations()
	postSmallJobs(pool, jobs)
	after := support.Allocations()
	ran := pool.Finish()
	support.CheckJobs(2*jobs, 2*support.SumOfJobs(jobs), ran, sum.Load())
	return float64(after-before) / float64(jobs)
}

func main() {
	jobs := flag.Uint64("jobs", 1_000_000, "")
	steadyJobs := flag.Uint64("steady_jobs", 100_000, "")
	workers := flag.Int("workers", 2, "")
	capacity := flag.Int("capacity", 1024, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	support.PrintResult(map[string]any{
		"jobs":                 *jobs,
		"bytes_per_queued_job": bytesPerQueuedJob(*workers, *jobs),
		"allocations_per_job":  allocationsPerJob(*workers, *capacity, *steadyJobs),
	})
}
