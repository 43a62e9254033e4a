// The work of ../workload.hpp with goroutines, each of which receives from a channel of its own.
package main

import (
	"flag"
	"runtime"

	support "handoff/bench/support/go"
)

type token struct {
	left, sum uint64
}

func node(mailbox <-chan token, next chan<- token, number uint64, sums chan<- uint64) {
	for token := range mailbox {
		if token.left == 0 {
			sums <- token.sum
			continue
		}
		token.left--
		token.sum += number
		next <- token
	}
}

func expectedSum(actors, hops uint64, starts []uint64) uint64 {
	sum := uint64(0)
	for _, start := range starts {
		sum += hops / actors * (actors * (actors - 1) / 2) // Whole rounds.
		for hop := uint64(0); hop < hops%actors; hop++ {
			sum += (start + hop) % actors
		}
	}
	return sum
}

func main() {
	actors := flag.Uint64("actors", 1000, "")
	tokens := flag.Uint64("tokens", 1, "")
	all := flag.Uint64("hops", 2_000_000, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	hops := *all / *tokens
	starts := make([]uint64, *tokens)
	for i := range starts {
		starts[i] = uint64(i) * *actors / *tokens
	}
	sums := make(chan uint64, *tokens)
	ring := make([]chan token, *actors)
	for i := range ring {
		ring[i] = make(chan token, support.MailboxCapacity)
	}
	for i := range ring {
		go node(ring[i], ring[(i+1)%len(ring)], uint64(i), sums)
	}

	watch := support.StartJobs()
	for _, start := range starts {
		ring[start] <- token{left: hops}
	}
	sum := uint64(0)
	for range starts {
		sum += <-sums
	}
	watch.Stop()
	support.CheckJobs(*tokens*hops, expectedSum(*actors, hops, starts), *tokens*hops, sum)
	watch.PrintRate(*tokens * hops)
}
