// The work of ../workload.hpp with goroutines and one channel.
package main

import (
	"flag"
	"runtime"

	support "handoff/bench/support/go"
)

func send(start <-chan uint64, receiver chan<- uint64, first, step, last uint64) {
	<-start
	for number := first; number <= last; number += step {
		receiver <- number
	}
}

func receive(mailbox <-chan uint64, messages uint64, sums chan<- uint64) {
	sum := uint64(0)
	for i := uint64(0); i < messages; i++ {
		sum += <-mailbox
	}
	sums <- sum
}

func main() {
	senders := flag.Uint64("senders", 100, "")
	messages := flag.Uint64("messages", 5_000_000, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	receiver := make(chan uint64, support.MailboxCapacity)
	sums := make(chan uint64)
	starts := make([]chan uint64, *senders)
	go receive(receiver, *messages, sums)
	for i := range starts {
		starts[i] = make(chan uint64, support.MailboxCapacity)
		go send(starts[i], receiver, uint64(i)+1, *senders, *messages)
	}

	peak := support.StartPeak()
	watch := support.StartJobs()
	for _, start := range starts {
		start <- 0
	}
	sum := <-sums
	watch.Stop()
	growth := peak.GrowthMiB()
	support.CheckJobs(*messages, *messages*(*messages+1)/2, *messages, sum)
	result := watch.Rate(*messages)
	result["peak_growth_mib"] = growth
	support.PrintResult(result)
}
