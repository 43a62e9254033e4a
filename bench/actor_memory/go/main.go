// The work of ../workload.hpp with goroutines. Memory is heap and stacks in use. A channel's slots are allocated with it:
// for the one message that it holds here each gets one.
package main

import (
	"flag"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	support "handoff/bench/support/go"
)

var begun, counted, sum atomic.Uint64

func add(mailbox <-chan uint64) {
	begun.Add(1)
	state := uint64(0)
	for number := range mailbox {
		state += number
		sum.Add(state)
		counted.Add(1)
	}
}

func waitFor(begin, handled uint64) {
	for begun.Load() < begin || counted.Load() < handled {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // The last of them are about to wait.
}

func sendNumbers(mailboxes []chan uint64) {
	for i, mailbox := range mailboxes {
		mailbox <- uint64(i) + 1
	}
}

func main() {
	actors := flag.Uint64("actors", 100_000, "")
	workers := flag.Int("workers", 2, "")
	handled := flag.Int("handled", 0, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)
	debug.SetGCPercent(-1) // BytesInUse collects.

	expected := *actors * (*actors + 1) / 2
	before := support.BytesInUse()
	mailboxes := make([]chan uint64, *actors)
	for i := range mailboxes {
		mailboxes[i] = make(chan uint64, 1)
		go add(mailboxes[i])
	}
	all := *actors
	if *handled != 0 {
		sendNumbers(mailboxes)
		waitFor(*actors, *actors)
		all, expected = 2**actors, 3*expected // They count the number, then twice the number.
	}
	waitFor(*actors, 0)
	after := support.BytesInUse()

	sendNumbers(mailboxes)
	waitFor(*actors, all)
	support.CheckJobs(all, expected, counted.Load(), sum.Load())
	support.PrintResult(map[string]any{
		"actors":          *actors,
		"bytes_per_actor": float64(after-before) / float64(*actors),
	})
}
