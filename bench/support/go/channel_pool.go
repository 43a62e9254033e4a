package support

import "sync"

// ChannelPool is the pool that Go programs write themselves: goroutines that take functions from a channel.
type ChannelPool struct {
	jobs    chan func()
	workers sync.WaitGroup
	ran     []uint64
}

// NewChannelPool starts the workers; the channel holds `capacity` jobs.
func NewChannelPool(workers, capacity int) *ChannelPool {
	pool := &ChannelPool{jobs: make(chan func(), capacity), ran: make([]uint64, workers)}
	pool.workers.Add(workers)
	for i := 0; i < workers; i++ {
		go pool.work(&pool.ran[i])
	}
	return pool
}

func (pool *ChannelPool) work(ran *uint64) {
	count := uint64(0)
	for job := range pool.jobs {
		job()
		count++
	}
	*ran = count
	pool.workers.Done()
}

// Post waits while the channel is full.
func (pool *ChannelPool) Post(job func()) { pool.jobs <- job }

// Finish waits until all jobs have run, and returns how many.
func (pool *ChannelPool) Finish() uint64 {
	close(pool.jobs)
	pool.workers.Wait()
	sum := uint64(0)
	for _, count := range pool.ran {
		sum += count
	}
	return sum
}
