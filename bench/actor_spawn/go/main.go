// The work of ../workload.hpp with goroutines. A channel's slots are allocated with it: for its one message each gets one.
package main

import (
	"flag"
	"runtime"
	"sync"
	"sync/atomic"

	support "handoff/bench/support/go"
)

const skynetChildren = 10

func spawnSendStop(count uint64) uint64 {
	var sum atomic.Uint64
	var running sync.WaitGroup
	running.Add(int(count))
	mailboxes := make([]chan uint64, count)
	for i := range mailboxes {
		mailbox := make(chan uint64, 1)
		mailboxes[i] = mailbox
		go func() {
			for number := range mailbox {
				sum.Add(number)
			}
			running.Done()
		}()
	}
	for i, mailbox := range mailboxes {
		mailbox <- uint64(i) + 1
	}
	for _, mailbox := range mailboxes {
		close(mailbox)
	}
	running.Wait()
	return sum.Load()
}

func node(parent chan<- uint64, first, leaves uint64) {
	if leaves == 1 {
		parent <- first
		return
	}
	each := leaves / skynetChildren
	mailbox := make(chan uint64, skynetChildren)
	for i := uint64(0); i < skynetChildren; i++ {
		go node(mailbox, first+i*each, each)
	}
	sum := uint64(0)
	for i := 0; i < skynetChildren; i++ {
		sum += <-mailbox
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
	actors := flag.Uint64("actors", 1_000_000, "")
	workers := flag.Int("workers", 2, "")
	isSkynet := flag.Int("skynet", 0, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	all, expected, sum := *actors, *actors*(*actors+1)/2, uint64(0)
	watch := support.StartJobs()
	if *isSkynet != 0 {
		all, expected = nodesOf(*actors), *actors*(*actors-1)/2
		root := make(chan uint64, 1)
		go node(root, 0, *actors)
		sum = <-root
	} else {
		sum = spawnSendStop(*actors)
	}
	watch.Stop()
	support.CheckJobs(all, expected, all, sum)
	watch.PrintRate(all)
}
