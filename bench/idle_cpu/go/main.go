// The work of ../workload.hpp over a Go channel.
package main

import (
	"flag"
	"sync"
	"time"

	support "handoff/bench/support/go"
)

const timeToSettle = 200 * time.Millisecond

func main() {
	consumers := flag.Int("consumers", 64, "")
	milliseconds := flag.Int64("milliseconds", 5000, "")
	flag.Parse()
	duration := time.Duration(*milliseconds) * time.Millisecond

	queue := make(chan uint64, 1024)
	var consuming sync.WaitGroup
	consuming.Add(*consumers)
	for i := 0; i < *consumers; i++ {
		go func() {
			for range queue {
			}
			consuming.Done()
		}()
	}
	time.Sleep(timeToSettle)

	before := support.UsageNow()
	time.Sleep(duration)
	usage := support.UsageNow().Since(before)
	close(queue)
	consuming.Wait()
	support.PrintResult(map[string]any{
		"seconds":                     duration.Seconds(),
		"cpu_ms_per_second":           usage.CPUSeconds * 1e3 / duration.Seconds(),
		"context_switches_per_second": float64(usage.ContextSwitches) / duration.Seconds(),
	})
}
