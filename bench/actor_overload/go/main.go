// The work of ../workload.hpp with a goroutine and a channel; a select refuses what that has no room for.
package main

import (
	"flag"
	"runtime"
	"sync/atomic"
	"time"

	support "handoff/bench/support/go"
)

const (
	handlingTime = 10 * time.Microsecond
	sendingTime  = time.Microsecond
)

var isOver atomic.Bool
var handled, handledSum atomic.Uint64

func handleSlowly(mailbox <-chan uint64) {
	for number := range mailbox {
		for until := time.Now().Add(handlingTime); !isOver.Load() && time.Now().Before(until); {
		}
		handledSum.Add(number)
		handled.Add(1)
	}
}

func sendTooMuch(mailbox chan<- uint64, duration time.Duration) (sent, accepted, sum uint64) {
	began := time.Now()
	for passed := time.Duration(0); passed < duration; passed = time.Since(began) {
		for due := uint64(passed / sendingTime); sent < due; {
			sent++
			select {
			case mailbox <- sent:
				accepted++
				sum += sent
			default:
			}
		}
		time.Sleep(time.Millisecond)
	}
	return sent, accepted, sum
}

func main() {
	seconds := flag.Int64("seconds", 10, "")
	workers := flag.Int("workers", 2, "")
	flag.Parse()
	runtime.GOMAXPROCS(*workers)

	mailbox := make(chan uint64, support.MailboxCapacity)
	go handleSlowly(mailbox)
	peak := support.StartPeak()
	sent, accepted, sum := sendTooMuch(mailbox, time.Duration(*seconds)*time.Second)
	growth := peak.GrowthMiB()
	handledInTime := handled.Load()
	isOver.Store(true)
	for handled.Load() < accepted {
		time.Sleep(time.Millisecond)
	}
	support.CheckJobs(accepted, sum, handled.Load(), handledSum.Load())
	support.PrintResult(map[string]any{
		"messages_sent":            sent,
		"messages_refused":         sent - accepted,
		"messages_handled_in_time": handledInTime,
		"peak_growth_mib":          growth,
	})
}
