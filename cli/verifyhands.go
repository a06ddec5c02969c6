package cli

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/urfave/cli/v2"
)

const flagAsWorker = "as-worker"

// hand is a worker as the proof knows it.
type hand struct {
	number  int
	grants  io.WriteCloser
	kill    func() // nil: it is no process
	granted int64
	counted int64
	ready   bool
	killed  bool
	series  []int     // of the judge, by the worker's own numbers
	bye     *farewell // nil: none came
}

// heard is what came from a worker: a frame, or its end.
type heard struct {
	from *hand
	kind byte // 0: it has ended
	body []byte
	err  error
}

// process starts a worker as a process of its own.
func (v verify) process(number int, reports chan<- heard) (*hand, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("hilo cannot find itself, to start a worker (%w); try --goroutines", err)
	}
	command := exec.Command(self, "verify", dashed(flagAsWorker)) //nolint:noctx // it is told to end by its stdin, in good order
	command.Stderr = &named{to: v.screen, name: fmt.Sprintf("worker %d", number)}
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("a worker process does not start (%w); try --goroutines", err)
	}
	h := &hand{number: number, grants: in, kill: func() { _ = command.Process.Kill() }}
	to := bufio.NewWriter(in)
	writeJSONFrame(to, frameReady, assignment{Settings: v.settings, Collections: v.Collections})
	go func() {
		_ = to.Flush() // if it is gone already, that is what the reader finds
		h.read(out, reports, command.Wait)
	}()
	return h, nil
}

// goroutine starts a worker in this process.
func (v verify) goroutine(ctx context.Context, number int, reports chan<- heard) *hand {
	in, grants := io.Pipe()
	out, to := io.Pipe()
	w := &proofWorker{
		globals:     v.globals,
		servers:     v.servers,
		collections: v.Collections,
		in:          bufio.NewReader(in),
		out:         bufio.NewWriter(to),
	}
	w.Log = newLogger(&named{to: v.screen, name: fmt.Sprintf("worker %d", number)}, v.Log.Level())
	h := &hand{number: number, grants: grants}
	go func() {
		err := w.Run(context.WithoutCancel(ctx)) // it is told to end by its stream, as a process is
		_ = in.Close()
		_ = to.CloseWithError(err)
	}()
	go h.read(out, reports, func() error { return nil })
	return h
}

// read hands on what comes from a worker, until its end.
func (h *hand) read(out io.Reader, reports chan<- heard, wait func() error) {
	from := bufio.NewReader(out)
	for {
		kind, body, err := readFrame(from)
		if err != nil {
			break
		}
		reports <- heard{from: h, kind: kind, body: body}
	}
	reports <- heard{from: h, err: wait()}
}

// grant lets the worker take n more.
func (h *hand) grant(n int64) {
	h.granted += n
	_, _ = h.grants.Write(binary.AppendUvarint(nil, uint64(n))) // if it is gone, its end is reported
}

// owed is what it may take and has not reported.
func (h *hand) owed() int64 { return h.granted - h.counted }

// readSettings are the flags of a command line, and of the environment, as environment variables for a worker process.
func readSettings(c *cli.Context, env Env) (map[string]string, error) {
	all := make(map[string]string)
	for _, flag := range append(globalFlags(), serverFlags()...) {
		name := flag.Names()[0]
		switch flag.(type) {
		case *cli.StringFlag:
			all[variable(name)], _ = setting(c, env, name)
		case *cli.BoolFlag:
			on, err := switched(c, env, name)
			if err != nil {
				return nil, err
			}
			all[variable(name)] = fmt.Sprint(on)
		}
	}
	return all, nil
}

// listedURLs are the URLs of the targets, as $HILO_REDIS_URL has them.
func listedURLs(targets []target) string {
	var urls []string
	for _, t := range targets {
		url := strings.ReplaceAll(t.url, " ", "%20")
		if t.name != "" {
			url = t.name + "=" + url
		}
		urls = append(urls, url)
	}
	return strings.Join(urls, " ")
}
