// The work of ../workload.hpp with goroutines, each of which receives from a channel of its own.
package main

import (
	"flag"
	"runtime"

	support "handoff/bench/support/go"
)

func pong(mailbox <-chan uint64, other chan<- uint64) {
	for number := range mailbox {
		other <- 2 * number
	}
}

func ping(mailbox <-chan uint64, other chan<- uint64, roundTrips uint64, sums chan<- uint64) {
	<-mailbox // The start.
	sum := uint64(0)
	for number := uint64(1); number <= roundTrips; number++ {
		other <- number
		sum += <-mailbox
	}
	sums <- sum
}

func main() {
	pairs := flag.Uint64("pairs", 1, "")
	all := flag.Uint64("round_trips", 1_000_000, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	each := *all / *pairs
	sums := make(chan uint64, *pairs)
	pingers := make([]chan uint64, *pairs)
	for i := range pingers {
		pingers[i] = make(chan uint64, support.MailboxCapacity)
		ponger := make(chan uint64, support.MailboxCapacity)
		go ping(pingers[i], ponger, each, sums)
		go pong(ponger, pingers[i])
	}

	watch := support.StartJobs()
	for _, pinger := range pingers {
		pinger <- 0
	}
	sum := uint64(0)
	for range pingers {
		sum += <-sums
	}
	watch.Stop()
	support.CheckJobs(*pairs*each, *pairs*each*(each+1), *pairs*each, sum)
	watch.PrintRate(*pairs * each)
}
