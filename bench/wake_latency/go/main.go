// The work of ../workload.hpp over a Go channel.
package main

import (
	"flag"
	"math/rand"
	"sort"
	"sync/atomic"
	"time"

	support "handoff/bench/support/go"
)

const (
	shortestPause = 300 * time.Microsecond
	longestPause  = 1000 * time.Microsecond
)

// sendPaced sends the time at which each send began, for the given time.
func sendPaced(queue chan<- time.Time, received *atomic.Int64, duration time.Duration) {
	random := rand.New(rand.NewSource(1))
	deadline := time.Now().Add(duration)
	for sent := int64(0); ; sent++ {
		for parked := false; !parked; parked = received.Load() == sent {
			time.Sleep(shortestPause + time.Duration(random.Int63n(int64(longestPause-shortestPause))))
		}
		if !time.Now().Before(deadline) {
			return
		}
		queue <- time.Now()
	}
}

func percentile(sorted []time.Duration, percent int) float64 {
	rank := (len(sorted)*percent + 99) / 100
	return float64(sorted[rank-1].Nanoseconds()) * 1e-3
}

func main() {
	milliseconds := flag.Int64("milliseconds", 1000, "")
	flag.Parse()
	duration := time.Duration(*milliseconds) * time.Millisecond

	queue := make(chan time.Time, 1024)
	ended := make(chan struct{})
	latencies := make([]time.Duration, 0, int(duration/shortestPause)+1)
	var received atomic.Int64
	go func() {
		for putBegan := range queue {
			latencies = append(latencies, time.Since(putBegan))
			received.Store(int64(len(latencies)))
		}
		close(ended)
	}()
	sendPaced(queue, &received, duration)
	close(queue)
	<-ended

	if len(latencies) == 0 {
		support.Fail("no item was sent in the given time")
	}
	sort.Slice(latencies, func(a, b int) bool { return latencies[a] < latencies[b] })
	support.PrintResult(map[string]any{
		"items":          len(latencies),
		"latency_us_p50": percentile(latencies, 50),
		"latency_us_p99": percentile(latencies, 99),
	})
}
