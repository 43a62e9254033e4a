// The work of ../workload.hpp over a Go channel.
package main

import (
	"flag"
	"fmt"
	"sync"
	"time"

	support "handoff/bench/support/go"
)

const itemsPerLookAtTheClock = 64

type moved struct {
	items, sum uint64
	ended      time.Time
}

func total(parts []moved) moved {
	var all moved
	for _, part := range parts {
		all.items += part.items
		all.sum += part.sum
		if part.ended.After(all.ended) {
			all.ended = part.ended
		}
	}
	return all
}

func produce(queue chan<- uint64, producer, producers, items uint64, limit time.Duration) moved {
	deadline := time.Now().Add(limit)
	var sent moved
	for item := producer + 1; item <= items; item += producers {
		queue <- item
		sent.items++
		sent.sum += item
		if sent.items%itemsPerLookAtTheClock == 0 && !time.Now().Before(deadline) {
			break
		}
	}
	return sent
}

func consume(queue <-chan uint64) moved {
	var taken moved
	for item := range queue {
		taken.items++
		taken.sum += item
	}
	taken.ended = time.Now()
	return taken
}

func main() {
	producers := flag.Uint64("producers", 1, "")
	consumers := flag.Uint64("consumers", 1, "")
	items := flag.Uint64("items", 20_000_000, "")
	milliseconds := flag.Int64("milliseconds", 500, "")
	capacity := flag.Uint64("capacity", 1024, "")
	flag.Parse()
	limit := time.Duration(*milliseconds) * time.Millisecond

	queue := make(chan uint64, *capacity)
	start := make(chan struct{})
	sent := make([]moved, *producers)
	taken := make([]moved, *consumers)
	var ready, producing, consuming sync.WaitGroup
	ready.Add(int(*producers + *consumers))
	producing.Add(int(*producers))
	consuming.Add(int(*consumers))
	for i := range taken {
		go func(mine *moved) {
			ready.Done()
			<-start
			*mine = consume(queue)
			consuming.Done()
		}(&taken[i])
	}
	for i := range sent {
		go func(mine *moved, producer uint64) {
			ready.Done()
			<-start
			*mine = produce(queue, producer, *producers, *items, limit)
			producing.Done()
		}(&sent[i], uint64(i))
	}

	ready.Wait()
	before := support.UsageNow()
	began := time.Now()
	close(start)
	producing.Wait()
	close(queue)
	consuming.Wait()
	usage := support.UsageNow().Since(before)

	allSent, allTaken := total(sent), total(taken)
	if allSent.items != allTaken.items || allSent.sum != allTaken.sum {
		support.Fail(fmt.Sprintf("sent %d items with sum %d, taken %d with sum %d",
			allSent.items, allSent.sum, allTaken.items, allTaken.sum))
	}
	seconds := allTaken.ended.Sub(began).Seconds()
	millions := float64(allTaken.items) * 1e-6
	support.PrintResult(map[string]any{
		"items":                              allTaken.items,
		"seconds":                            seconds,
		"items_per_us":                       millions / seconds,
		"cpu_seconds_per_million_items":      usage.CPUSeconds / millions,
		"context_switches_per_million_items": float64(usage.ContextSwitches) / millions,
	})
}
