// Package support holds what the Go contenders share.
package support

import "syscall"

// Usage is what the whole process has cost so far.
type Usage struct {
	CPUSeconds      float64
	ContextSwitches int64 // Voluntary and involuntary, of the threads that carry the goroutines.
}

// UsageNow reads the usage of the process.
func UsageNow() Usage {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return Usage{
		CPUSeconds:      seconds(usage.Utime) + seconds(usage.Stime),
		ContextSwitches: usage.Nvcsw + usage.Nivcsw,
	}
}

// Since returns what was used after the earlier reading.
func (later Usage) Since(earlier Usage) Usage {
	return Usage{
		CPUSeconds:      later.CPUSeconds - earlier.CPUSeconds,
		ContextSwitches: later.ContextSwitches - earlier.ContextSwitches,
	}
}

func seconds(time syscall.Timeval) float64 {
	return float64(time.Sec) + float64(time.Usec)*1e-6
}
