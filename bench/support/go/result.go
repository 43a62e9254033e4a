package support

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// PrintResult prints one line of JSON for bench/run.
func PrintResult(result map[string]any) {
	result["version"] = runtime.Version()
	line, err := json.Marshal(result)
	if err != nil {
		Fail(err.Error())
	}
	fmt.Println(string(line))
}

// Fail ends the program with a message.
func Fail(message string) {
	fmt.Fprintln(os.Stderr, "error:", message)
	os.Exit(1)
}
