package allocator

import "sync"

// refillers bounds the goroutines of one allocator, and with them its concurrent requests, however many collections it
// has.
const refillers = 32

// queue runs work on up to refillers goroutines, which end when none is left. run has to be set.
type queue[T any] struct {
	run func(T)

	mu      sync.Mutex // guards what follows, and is locked after Collection.mu
	waiting []T
	running int
	workers sync.WaitGroup
}

func (q *queue[T]) push(work T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, work)
	if q.running < refillers {
		q.running++
		q.workers.Go(q.work)
	}
}

func (q *queue[T]) work() {
	for {
		q.mu.Lock()
		if len(q.waiting) == 0 {
			q.waiting = nil
			q.running--
			q.mu.Unlock()
			return
		}
		next := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.mu.Unlock()
		q.run(next)
	}
}
