// The work of ../workload.hpp: each fork is a goroutine that sends its result on a channel of one.
package main

import (
	"flag"
	"fmt"
	"runtime"

	support "handoff/bench/support/go"
)

func fib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	forked := make(chan uint64, 1)
	go func() { forked <- fib(n - 1) }()
	kept := fib(n - 2)
	return <-forked + kept
}

func expectedOf(n uint64) (result, forks uint64) {
	var nextResult, nextForks uint64 = 1, 0
	for i := uint64(0); i < n; i++ {
		result, nextResult = nextResult, result+nextResult
		forks, nextForks = nextForks, forks+nextForks+1
	}
	return
}

func main() {
	n := flag.Uint64("n", 30, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	expected, forks := expectedOf(*n)

	watch := support.StartJobs()
	result := fib(*n)
	watch.Stop()
	if result != expected {
		support.Fail(fmt.Sprintf("fib(%d) is %d, computed %d", *n, expected, result))
	}
	watch.PrintRate(forks)
}
