package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// Workers return what they hold on any signal.
func TestWorkersOfAFleetEndWithTheirSignal(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		fleet := make([]*exec.Cmd, 4)
		outputs, messages := make([]bytes.Buffer, len(fleet)), make([]io.Reader, len(fleet))
		for i := range fleet {
			fleet[i] = exec.CommandContext(t.Context(), hilo, "worker", "orders")
			fleet[i].Env = append(os.Environ(), "HILO_REDIS_URL="+s.URL(), "HILO_OUTPUT=json", "HILO_WORKER_RATE=5000")
			fleet[i].Stdout = &outputs[i]
			var err error
			if messages[i], err = fleet[i].StderrPipe(); err != nil {
				t.Fatal(err)
			}
			if err := fleet[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range messages { // from its first line on a worker ends as the test demands
			if _, err := bufio.NewReader(m).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		client := s.Client(t)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for ranges := 0; ranges < 4*len(fleet) && t.Context().Err() == nil; <-ticker.C {
			ranges, _ = client.HGet(t.Context(), "{Raven}/HiLo/orders", "Ranges").Int()
		}
		for i, worker := range fleet {
			if err := worker.Process.Signal([]os.Signal{syscall.SIGTERM, os.Interrupt}[i%2]); err != nil {
				t.Fatal(err)
			}
		}
		var greatest, issued int64
		for i, worker := range fleet {
			if err := worker.Wait(); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
			var found struct {
				Stopped string
				IDs     int64
				Total   struct{ Issued, Reserved, Returned, Burnt int64 }
			}
			if err := json.Unmarshal(outputs[i].Bytes(), &found); err != nil {
				t.Fatalf("%v: %s", err, outputs[i].String())
			}
			if found.Stopped != "signal" || found.IDs != found.Total.Issued {
				t.Errorf("worker %d: %+v", i, found)
			}
			greatest += found.Total.Issued + found.Total.Burnt
			issued += found.Total.Issued
		}
		if issued == 0 {
			t.Error("got no id of any worker, want some")
		}
		if top := client.HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); top != fmt.Sprint(greatest) {
			t.Errorf("Max is %s, want %d, what was issued or burnt: the rest was returned", top, greatest)
		}
	})
}
