package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// TestWorkersOfAFleetEndWithTheirSignal: with any signal they return what they hold, and no id was given twice.
func TestWorkersOfAFleetEndWithTheirSignal(t *testing.T) {
	t.Parallel()
	hilo := binary(t)
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		documents := redistest.StartMini(t)
		fleet := make([]*exec.Cmd, 4)
		outputs := make([]bytes.Buffer, len(fleet))
		for i := range fleet {
			fleet[i] = exec.CommandContext(t.Context(), hilo, "worker", "orders")
			fleet[i].Env = append(os.Environ(), "HILO_REDIS_URL="+s.URL(), "HILO_OUTPUT=json", "HILO_WORKER_RATE=5000",
				"HILO_WORKER_DOCUMENTS="+documents.URL())
			fleet[i].Stdout, fleet[i].Stderr = &outputs[i], os.Stderr
			if err := fleet[i].Start(); err != nil {
				t.Fatal(err)
			}
		}
		client := documents.Client(t)
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for client.DBSize(t.Context()).Val() < 2000 && t.Context().Err() == nil {
			<-ticker.C
		}
		for i, worker := range fleet {
			if err := worker.Process.Signal([]os.Signal{syscall.SIGTERM, os.Interrupt}[i%2]); err != nil {
				t.Fatal(err)
			}
		}
		var stored, given, greatest int64
		for i, worker := range fleet {
			if err := worker.Wait(); err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
			var found struct {
				Worker             string
				Stopped            string
				IDs, Stored        int64
				Duplicates         int64
				Unstored, Returned int64
				Total              struct{ Issued, Reserved, Returned, Burnt int64 }
			}
			if err := json.Unmarshal(outputs[i].Bytes(), &found); err != nil {
				t.Fatalf("%v: %s", err, outputs[i].String())
			}
			if found.Stopped != "signal" || found.Stored != found.IDs || found.Duplicates != 0 {
				t.Errorf("worker %d: %+v", i, found)
			}
			stored += found.Stored
			given += found.Total.Issued
			greatest += found.Total.Issued + found.Total.Burnt
		}
		if keys := client.DBSize(t.Context()).Val(); keys != stored || stored != given {
			t.Errorf("%d documents, %d stored, %d issued", keys, stored, given)
		}
		if top := s.Client(t).HGet(t.Context(), "{Raven}/HiLo/orders", "Max").Val(); top != fmt.Sprint(greatest) {
			t.Errorf("Max is %s, want %d, what was issued or burnt: the rest was returned", top, greatest)
		}
	})
}
