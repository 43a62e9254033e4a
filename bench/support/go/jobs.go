package support

import "time"

// JobsPerLookAtTheClock is how often those who give jobs ask whether time is up.
const JobsPerLookAtTheClock = 64

// JobStopwatch times a piece of work that runs many jobs.
type JobStopwatch struct {
	before  Usage
	began   time.Time
	usage   Usage
	seconds float64
}

// StartJobs starts a stopwatch.
func StartJobs() *JobStopwatch {
	return &JobStopwatch{before: UsageNow(), began: time.Now()}
}

// Stop ends the time that PrintRate divides by.
func (watch *JobStopwatch) Stop() {
	watch.seconds = time.Since(watch.began).Seconds()
	watch.usage = UsageNow().Since(watch.before)
}

// PrintRate prints the result of the jobs that ran between start and stop.
func (watch *JobStopwatch) PrintRate(jobs uint64) { PrintResult(watch.Rate(jobs)) }

// Rate is what PrintRate prints, for a result that says more.
func (watch *JobStopwatch) Rate(jobs uint64) map[string]any {
	millions := float64(jobs) * 1e-6
	return map[string]any{
		"jobs":                         jobs,
		"seconds":                      watch.seconds,
		"jobs_per_us":                  millions / watch.seconds,
		"seconds_per_million_jobs":     watch.seconds / millions,
		"cpu_seconds_per_million_jobs": watch.usage.CPUSeconds / millions,
	}
}
