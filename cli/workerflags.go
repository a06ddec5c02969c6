package cli

import (
	"math"
	"net"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hilo-id/hilo/prefix"
)

// readWorker reads all flags and arguments.
func readWorker(c *cli.Context, env Env) (fleetWorker, error) {
	var w fleetWorker
	var err error
	if w.globals, w.servers, err = readServers(c, env); err != nil {
		return w, err
	}
	if err := w.readCollections(c); err != nil {
		return w, err
	}
	if err := w.readSize(c); err != nil {
		return w, err
	}
	if err := w.readDocuments(c); err != nil {
		return w, err
	}
	var source string
	if w.MetricsAddr, source = w.setting(c, flagMetricsAddr); w.MetricsAddr != "" {
		if _, port, err := net.SplitHostPort(w.MetricsAddr); err != nil || port != "0" && !isPort(port) {
			return w, usagef("%s is %q: must be HOST:PORT or :PORT, such as :9090", source, w.MetricsAddr)
		}
	}
	return w, nil
}

// setting is the value of a flag of the worker's own and where it comes from.
func (w *fleetWorker) setting(c *cli.Context, flag string) (value, source string) {
	return settingOr(c, w.Env, flag, workerVariable(flag))
}

func (w *fleetWorker) readCollections(c *cli.Context) error {
	w.Collections = c.Args().Slice()
	source := "name one such as orders"
	if len(w.Collections) == 0 {
		text, _ := w.lookup(workerVariable("collections"))
		w.Collections = strings.Fields(text)
		source = "see to " + workerVariable("collections")
	}
	if len(w.Collections) == 0 {
		return usagef("%s needs a COLLECTION: %s", c.Command.HelpName, c.Command.UsageText)
	}
	if most := mostCollections; len(w.Collections) > most {
		return usagef("%s takes at most %d collections, and %d are named", c.Command.HelpName, most, len(w.Collections))
	}
	for i, name := range w.Collections {
		if err := prefix.ValidateCollection(name, w.Separator); err != nil {
			return invalid(err, source)
		}
		if slices.Contains(w.Collections[:i], name) {
			return usagef("collection %q is named twice: name it once", name)
		}
	}
	return nil
}

// readSize reads how much is to be done, by how many.
func (w *fleetWorker) readSize(c *cli.Context) error {
	text, source := w.setting(c, flagRate)
	var err error
	if text != fullSpeed && text != "0" {
		if w.Rate, err = numberFrom(source, text, 0, mostRate); err != nil {
			return err
		}
	}
	text, source = w.setting(c, flagGoroutines)
	goroutines, err := numberFrom(source, text, 1, mostWorkers)
	if err != nil {
		return err
	}
	w.Goroutines = int(goroutines)
	if text, source = w.setting(c, flagCount); text != "" {
		if w.Count, err = numberFrom(source, text, 1, math.MaxInt64); err != nil {
			return err
		}
	}
	if text, source = w.setting(c, flagDuration); text != "" {
		if w.Duration, err = durationFrom(source, text); err != nil {
			return err
		}
	}
	return nil
}

func (w *fleetWorker) readDocuments(c *cli.Context) error {
	text, source := w.setting(c, flagDocuments)
	file, fileSource := w.setting(c, flagDocumentsFile)
	if text == "" {
		if file != "" {
			return usagef("%s is set and no documents are stored: name their Redis with %s URL", fileSource, dashed(flagDocuments))
		}
		return nil
	}
	t, err := parseURL(text)
	if err != nil {
		return usagef("%s %s", source, err)
	}
	a, err := readAccess(c, w.Env)
	if err != nil {
		return err
	}
	switch {
	case file != "":
		if a.password, err = readPassword(file, fileSource); err != nil {
			return err
		}
	case !t.namesUser():
		a.password = "" // that is the servers': a Redis that asks for no user may know no password
	}
	a.give(&t)
	w.Documents = &t
	return nil
}
