module handoff/bench

go 1.19
