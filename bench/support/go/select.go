package support

// SelectAll takes from four channels by select until one is closed, then what the others still hold. All are closed
// together, after the last item.
func SelectAll(channels []chan uint64, taken *Moved) {
	for selectOne(channels[0], channels[1], channels[2], channels[3], taken) {
	}
	for _, channel := range channels {
		for item := range channel {
			taken.Add(item)
		}
	}
}

func selectOne(a, b, c, d <-chan uint64, taken *Moved) bool {
	var item uint64
	var isOpen bool
	select {
	case item, isOpen = <-a:
	case item, isOpen = <-b:
	case item, isOpen = <-c:
	case item, isOpen = <-d:
	}
	if isOpen {
		taken.Add(item)
	}
	return isOpen
}
