package support

import (
	"fmt"
	"runtime"
)

// BytesInUse is what the heap and all stacks hold after a collection.
func BytesInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}

// Allocations is the number of objects allocated on the heap so far.
func Allocations() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}

// SumOfJobs is what the jobs 1 to `jobs` of pool_memory carry together: a number and twice that number each.
func SumOfJobs(jobs uint64) uint64 { return 3 * (jobs * (jobs + 1) / 2) }

// CheckJobs fails unless as many jobs have run as were given, and their numbers add up.
func CheckJobs(given, givenSum, ran, ranSum uint64) {
	if given != ran || givenSum != ranSum {
		Fail(fmt.Sprintf("given %d jobs with sum %d, run %d with sum %d", given, givenSum, ran, ranSum))
	}
}
