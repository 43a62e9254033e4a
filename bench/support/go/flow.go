package support

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Carriers says on what the goroutines of a flow run.
type Carriers int

const (
	// Goroutines run as Go likes.
	Goroutines Carriers = iota
	// LockedGoroutines have a thread of their own each.
	LockedGoroutines
)

const itemsPerLookAtTheClock = 64

// Moved is what one side of a flow has sent or taken.
type Moved struct {
	Items, Sum uint64
	_          [48]byte // A cache line of its own.
}

// Add counts an item.
func (moved *Moved) Add(item uint64) {
	moved.Items++
	moved.Sum += item
}

func (moved *Moved) sendAll(channel chan<- uint64, number, step, last uint64, deadline time.Time) {
	for item := number + 1; item <= last; item += step {
		if moved.Items%itemsPerLookAtTheClock == 0 && !time.Now().Before(deadline) {
			break
		}
		channel <- item
		moved.Add(item)
	}
}

// ReceiveAll takes from the first channel until it is closed.
func ReceiveAll(channels []chan uint64, taken *Moved) {
	for item := range channels[0] {
		taken.Add(item)
	}
}

// MeasureFlow is support/channels/flow.hpp in Go: senders with a channel each, which are closed after the last item, and one
// receiver.
func MeasureFlow(senders uint64, carriers Carriers, receive func(channels []chan uint64, taken *Moved)) {
	capacity := flag.Uint64("capacity", 0, "")
	workers := flag.Int("workers", 2, "")
	items := flag.Uint64("items", 20_000_000, "")
	milliseconds := flag.Int64("milliseconds", 500, "")
	flag.Parse()
	if carriers == Goroutines {
		runtime.GOMAXPROCS(*workers)
	}
	start := func(run func()) {
		go func() {
			if carriers == LockedGoroutines {
				runtime.LockOSThread()
			}
			run()
		}()
	}

	channels := make([]chan uint64, senders)
	for i := range channels {
		channels[i] = make(chan uint64, *capacity)
	}
	sent := make([]Moved, senders)
	taken := new(Moved)
	var sending, receiving sync.WaitGroup
	sending.Add(int(senders))
	receiving.Add(1)

	before := UsageNow()
	began := time.Now()
	deadline := began.Add(time.Duration(*milliseconds) * time.Millisecond)
	start(func() {
		receive(channels, taken)
		receiving.Done()
	})
	for i := range sent {
		i := i
		start(func() {
			sent[i].sendAll(channels[i], uint64(i), senders, *items, deadline)
			sending.Done()
		})
	}
	sending.Wait()
	for _, channel := range channels {
		close(channel)
	}
	receiving.Wait()
	seconds := time.Since(began).Seconds()
	usage := UsageNow().Since(before)

	allItems, allSum := uint64(0), uint64(0)
	for i := range sent {
		allItems += sent[i].Items
		allSum += sent[i].Sum
	}
	if allItems != taken.Items || allSum != taken.Sum || allItems == 0 {
		Fail(fmt.Sprintf("sent %d items with sum %d, taken %d with sum %d", allItems, allSum, taken.Items, taken.Sum))
	}
	millions := float64(taken.Items) * 1e-6
	PrintResult(map[string]any{
		"items":                              taken.Items,
		"seconds":                            seconds,
		"items_per_us":                       millions / seconds,
		"cpu_seconds_per_million_items":      usage.CPUSeconds / millions,
		"context_switches_per_million_items": float64(usage.ContextSwitches) / millions,
	})
}
