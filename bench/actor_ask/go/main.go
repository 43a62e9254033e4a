// The work of ../workload.hpp with goroutines: a question carries the channel for its answer, which is used again.
package main

import (
	"flag"
	"runtime"

	support "handoff/bench/support/go"
)

type question struct {
	number uint64
	answer chan<- uint64
}

func answerAll(mailbox <-chan question) {
	for question := range mailbox {
		question.answer <- 2 * question.number
	}
}

func askAll(mailbox <-chan uint64, answerer chan<- question, sums chan<- uint64) {
	asks := <-mailbox
	answer := make(chan uint64, 1)
	sum := uint64(0)
	for number := uint64(1); number <= asks; number++ {
		answerer <- question{number, answer}
		sum += <-answer
	}
	sums <- sum
}

func main() {
	asks := flag.Uint64("asks", 500_000, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	asker := make(chan uint64, support.MailboxCapacity)
	answerer := make(chan question, support.MailboxCapacity)
	sums := make(chan uint64)
	go answerAll(answerer)
	go askAll(asker, answerer, sums)

	watch := support.StartJobs()
	asker <- *asks
	sum := <-sums
	watch.Stop()
	support.CheckJobs(*asks, *asks*(*asks+1), *asks, sum)
	watch.PrintRate(*asks)
}
