package support

import (
	"fmt"
	"os"
	"strings"
)

// PeakMemory is support/peak_memory.hpp in Go: the highest growth of resident memory since a moment.
type PeakMemory struct {
	beforeKiB uint64
}

// StartPeak begins now.
func StartPeak() PeakMemory {
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // Lowers the mark to what is resident now.
	return PeakMemory{readStatusKiB("VmRSS:")}
}

// GrowthMiB is the highest growth so far.
func (peak PeakMemory) GrowthMiB() float64 {
	highest := readStatusKiB("VmHWM:")
	if highest <= peak.beforeKiB {
		return 0
	}
	return float64(highest-peak.beforeKiB) / 1024
}

func readStatusKiB(field string) uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		Fail(err.Error())
	}
	for _, line := range strings.Split(string(status), "\n") {
		var kib uint64
		if strings.HasPrefix(line, field) {
			if _, err := fmt.Sscan(line[len(field):], &kib); err == nil {
				return kib
			}
		}
	}
	Fail("cannot read " + field + " in /proc/self/status")
	return 0
}
