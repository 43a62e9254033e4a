// The work of ../workload.hpp with a goroutine for each job. Memory is heap and stacks in use; the jobs themselves
// wait at the gate, for a goroutine that nobody has started yet holds no less.
package main

import (
	"flag"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	support "handoff/bench/support/go"
)

var (
	sum     atomic.Uint64
	ran     atomic.Uint64
	running sync.WaitGroup
)

func startSmallJobs(jobs uint64, gate <-chan struct{}) {
	running.Add(int(jobs))
	for i := uint64(1); i <= jobs; i++ {
		number, twice := i, 2*i
		go func() {
			<-gate
			sum.Add(number + twice)
			ran.Add(1)
			running.Done()
		}()
	}
}

func bytesPerQueuedJob(jobs uint64) float64 {
	before := support.BytesInUse()
	gate := make(chan struct{})
	startSmallJobs(jobs, gate)
	after := support.BytesInUse()
	close(gate)
	running.Wait()
	support.CheckJobs(jobs, support.SumOfJobs(jobs), ran.Swap(0), sum.Swap(0))
	return float64(after-before) / float64(jobs)
}

func allocationsPerJob(jobs uint64) float64 {
	open := make(chan struct{})
	close(open)
	startSmallJobs(jobs, open)
	before := support.Allocations()
	startSmallJobs(jobs, open)
	after := support.Allocations()
	running.Wait()
	support.CheckJobs(2*jobs, 2*support.SumOfJobs(jobs), ran.Swap(0), sum.Swap(0))
	return float64(after-before) / float64(jobs)
}

func main() {
	jobs := flag.Uint64("jobs", 1_000_000, "")
	steadyJobs := flag.Uint64("steady_jobs", 100_000, "")
	workers := flag.Int("workers", 2, "")
	flag.Int("capacity", 1024, "not used: nothing bounds the number of goroutines")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	debug.SetGCPercent(-1) // Scanning a million stacks while they are made takes seconds; BytesInUse collects.
	support.PrintResult(map[string]any{
		"jobs":                 *jobs,
		"bytes_per_queued_job": bytesPerQueuedJob(*jobs),
		"allocations_per_job":  allocationsPerJob(*steadyJobs),
	})
}
