package faults

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// A server restarts without its newest writes, or with none at all. Workers that were running detect the loss by their floor. New
// workers detect it by the replication id, if a counter is left that records one.
func TestRestartThatLosesWritesRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args []string
		keep func(t *testing.T, s *redistest.Server)
		lose func(t *testing.T, s *redistest.Server) // while it is down
		new  bool                                    // half of the workers are
	}{
		{name: "without persistence"},
		{name: "RDB", keep: save, new: true},
		{name: "AOF that lost its end", args: []string{"--appendonly", "yes"}, keep: rewrite, lose: halve, new: true},
		{name: "AOF damaged in its middle and repaired", args: []string{"--appendonly", "yes"}, keep: rewrite, new: true,
			lose: func(t *testing.T, s *redistest.Server) {
				newest := newestAOF(t, s)
				damage(t, newest, sizeOf(t, newest)/2)
				repair(t, s)
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			eachServer(t, func(t *testing.T, b redistest.Binary) {
				proves(t, func(t *testing.T, f *fleet) {
					s := redistest.Start(t, b, test.args...)
					old := f.start(4, steady(at(s)))
					f.awaitTotal(30_000)
					if test.keep != nil {
						test.keep(t, s)
					}
					f.awaitTotal(10_000)
					s.Kill()
					if test.new {
						old[0].kill()
						old[1].kill()
					}
					if test.lose != nil {
						test.lose(t, s)
					}
					s.Restart()
					if test.new {
						f.start(2, steady(at(s)))
					}
					f.awaitEach(1000)
				})
			})
		})
	}
}

// A server that is killed loses nothing that it has written to its AOF, so the bare way repeats no numbers either.
func TestRestartWithAnAOFRepeatsNoNumber(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, b redistest.Binary) {
		holds(t, func(t *testing.T, f *fleet) {
			s := redistest.Start(t, b, "--appendonly", "yes")
			f.start(3, steady(at(s)))
			for range 3 {
				f.awaitEach(1000)
				s.Kill()
				f.running()[0].kill()
				s.Restart()
				f.start(1, steady(at(s)))
			}
			f.awaitEach(1000)
		})
	})
}

func save(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := redistest.NewClient(t, s).Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// rewrite starts a rewrite of the append-only file. The newest file then has only later writes, for halve or damage to remove.
func rewrite(t *testing.T, s *redistest.Server) {
	t.Helper()
	if err := redistest.NewClient(t, s).BgRewriteAOF(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// halve removes the second half of what was appended, as a power loss may.
func halve(t *testing.T, s *redistest.Server) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no append-only file: %v", err)
	}
	newest := files[len(files)-1]
	info, err := os.Stat(newest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(newest, info.Size()/2); err != nil {
		t.Fatal(err)
	}
}
