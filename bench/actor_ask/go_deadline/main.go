// The work of ../workload.hpp with goroutines, with what a question to an actor has: a deadline, and an answer that comes too late is nobody
// else's. So each question has a channel and a timer of its own.
package main

import (
	"flag"
	"runtime"
	"time"

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

func ask(answerer chan<- question, number uint64, timeout time.Duration) (uint64, bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	answer := make(chan uint64, 1)
	select {
	case answerer <- question{number, answer}:
	case <-timer.C:
		return 0, false
	}
	select {
	case doubled := <-answer:
		return doubled, true
	case <-timer.C:
		return 0, false
	}
}

func askAll(mailbox <-chan uint64, answerer chan<- question, sums chan<- uint64) {
	asks := <-mailbox
	sum := uint64(0)
	for number := uint64(1); number <= asks; number++ {
		doubled, ok := ask(answerer, number, 10*time.Second)
		if !ok {
			break // The sum is wrong then: the measurement fails.
		}
		sum += doubled
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
