// The work of ../workload.hpp with goroutines: a WaitGroup joins them; in skynet a child sends its number to its parent.
package main

import (
	"flag"
	"runtime"
	"sync"

	support "handoff/bench/support/go"
)

const skynetChildren = 10

func spawnAndJoin(count uint64) {
	var running sync.WaitGroup
	running.Add(int(count))
	for i := uint64(0); i < count; i++ {
		go running.Done()
	}
	running.Wait()
}

func node(parent chan<- uint64, first, leaves uint64) {
	if leaves == 1 {
		parent <- first
		return
	}
	each := leaves / skynetChildren
	sums := make(chan uint64)
	for i := uint64(0); i < skynetChildren; i++ {
		go node(sums, first+i*each, each)
	}
	sum := uint64(0)
	for i := 0; i < skynetChildren; i++ {
		sum += <-sums
	}
	parent <- sum
}

func nodesOf(leaves uint64) uint64 {
	nodes := uint64(1)
	for row := leaves; row > 1; row /= skynetChildren {
		nodes += row
	}
	return nodes
}

func main() {
	coroutines := flag.Uint64("coroutines", 1_000_000, "")
	workers := flag.Int("workers", 2, "")
	isSkynet := flag.Int("skynet", 0, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	done := make(chan uint64)
	all := *coroutines
	watch := support.StartJobs()
	if *isSkynet != 0 {
		all = nodesOf(*coroutines)
		go node(done, 0, *coroutines)
		sum := <-done
		watch.Stop()
		support.CheckJobs(all, *coroutines*(*coroutines-1)/2, all, sum)
	} else {
		go func() {
			spawnAndJoin(*coroutines)
			done <- 0
		}()
		<-done
		watch.Stop()
	}
	watch.PrintRate(all)
}
