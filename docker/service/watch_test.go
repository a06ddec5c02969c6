package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hilo-id/hilo/allocator"
	"github.com/hilo-id/hilo/allocator/metrics"
)

// exported returns the names of all metrics of an allocator.
func exported(t *testing.T) map[string]bool {
	t.Helper()
	client, err := allocator.Connect("127.0.0.1:1") // nothing is sent
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	ids, err := allocator.New(client, allocator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	collector, err := metrics.New(metrics.Options{}, ids)
	if err != nil {
		t.Fatal(err)
	}
	names := make(map[string]bool)
	descs := make(chan *prometheus.Desc)
	go func() { defer close(descs); collector.Describe(descs) }()
	for desc := range descs {
		names[regexp.MustCompile(`fqName: "([^"]+)"`).FindStringSubmatch(desc.String())[1]] = true
	}
	if len(names) < 20 {
		t.Fatalf("only %v", names)
	}
	return names
}

func TestDashboardAndRulesNameOnlyExportedMetrics(t *testing.T) {
	t.Parallel()
	names := exported(t)
	for _, file := range []string{"../grafana/dashboards/hilo.json", "../prometheus/alerts.yml", "../prometheus/alerts_test.yml"} {
		found := regexp.MustCompile(`\bhilo_[a-z_]+`).FindAllString(readText(t, file), -1)
		if len(found) < 10 {
			t.Errorf("%s names only %v", file, found)
		}
		for _, name := range found {
			base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
			if !names[name] && !names[base] {
				t.Errorf("%s names %s, which is not exported", file, name)
			}
		}
	}
	for name := range names { // a metric that needs no panel is not worth its cost
		if name != "hilo_server_info" && name != "hilo_ids_reserved_total" && !strings.Contains(readText(t, "../grafana/dashboards/hilo.json"), name) {
			t.Errorf("%s is in no panel", name)
		}
	}
}

func TestReadmeOfMetricsHasEveryMetric(t *testing.T) {
	t.Parallel()
	names := exported(t)
	table := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| `(hilo_[a-z_]+)` \\|").FindAllStringSubmatch(readText(t, "../../allocator/metrics/README.md"), -1) {
		table[row[1]] = true
	}
	if !maps.Equal(names, table) {
		t.Errorf("exported: %v\nin allocator/metrics/README.md: %v", slices.Sorted(maps.Keys(names)), slices.Sorted(maps.Keys(table)))
	}
}

// Each message has to be a literal, because others cannot be compared.
func TestReadmeOfMetricsHasEveryWarningAndError(t *testing.T) {
	t.Parallel()
	table := make(map[string]string) // level by line
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (warn|error) \\|").FindAllStringSubmatch(readText(t, "../../allocator/metrics/README.md"), -1) {
		table[row[1]] = row[2]
	}
	logged := make(map[string]string)
	for _, folder := range []string{".", "../../cli", "../../cli/*", "../../cli/internal/*", "../../allocator", "../../allocator/internal/*", "../../allocator/metrics", "../../scripts", "../../prefix"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") && !strings.Contains(file, "clitest") {
				addLines(t, file, logged)
			}
		}
	}
	if !maps.Equal(logged, table) {
		t.Errorf("logged: %q\nin allocator/metrics/README.md: %q", logged, table)
	}
}

// addLines adds the messages of a file's calls of Warn and Error.
func addLines(t *testing.T, file string, lines map[string]string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		if from, ok := method.X.(*ast.Ident); ok && slices.Contains([]string{"http", "redis", "zap"}, from.Name) {
			return true
		}
		switch level := strings.ToLower(method.Sel.Name); level {
		case "warn", "error":
			text, ok := literal(call.Args[0])
			if !ok {
				t.Errorf("%s logs a message at level %s that is no literal", file, level)
			}
			lines[text] = level
		case "dpanic", "panic", "fatal":
			t.Errorf("%s logs at level %s", file, level)
		}
		return true
	})
}

func literal(e ast.Expr) (string, bool) {
	basic, ok := e.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
