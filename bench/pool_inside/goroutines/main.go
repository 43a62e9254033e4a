// The work of ../workload.hpp with a goroutine for each job.
package main

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	support "handoff/bench/support/go"
)

type spawning struct {
	jobs     uint64
	deadline time.Time
	isOver   atomic.Bool
	running  sync.WaitGroup
	counted  atomic.Uint64 // By the goroutine that spawns all; by every node of the tree.
}

func (s *spawning) lookAtTheClock() {
	if !time.Now().Before(s.deadline) {
		s.isOver.Store(true)
	}
}

func (s *spawning) spawnAll() {
	spawned := uint64(1)
	for ; spawned < s.jobs && !s.isOver.Load(); spawned++ {
		s.running.Add(1)
		go func() { s.running.Done() }()
		if spawned%support.JobsPerLookAtTheClock == 0 {
			s.lookAtTheClock()
		}
	}
	s.counted.Store(spawned)
	s.running.Done()
}

func (s *spawning) tree(number uint64) {
	if number%support.JobsPerLookAtTheClock == 0 {
		s.lookAtTheClock()
	}
	for child := 2 * number; child <= 2*number+1; child++ {
		if child > s.jobs || s.isOver.Load() {
			break
		}
		s.running.Add(1)
		child := child
		go func() { s.tree(child) }()
	}
	s.counted.Add(1)
	s.running.Done()
}

func main() {
	jobs := flag.Uint64("jobs", 5_000_000, "")
	milliseconds := flag.Int64("milliseconds", 500, "")
	workers := flag.Int("workers", 2, "")
	flag.Int("capacity", 1024, "not used: nothing bounds the number of goroutines")
	isTree := flag.Int("tree", 0, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	watch := support.StartJobs()
	s := &spawning{jobs: *jobs, deadline: time.Now().Add(time.Duration(*milliseconds) * time.Millisecond)}
	s.running.Add(1)
	if *isTree != 0 {
		go s.tree(1)
	} else {
		go s.spawnAll()
	}
	s.running.Wait()
	watch.Stop()
	ran := s.counted.Load()
	if !s.isOver.Load() {
		support.CheckJobs(*jobs, 0, ran, 0)
	}
	watch.PrintRate(ran)
}
