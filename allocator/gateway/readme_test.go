package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/hilo-id/hilo/scripts/redistest"
)

// snippet returns the example of README.md in a language.
func snippet(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(text, -1)
	if len(found) != 1 {
		t.Fatalf("got %d examples in %s, want 1", len(found), language)
	}
	return string(found[0][1])
}

// The examples issue ids, wait while no server is up, and fail with the reason of a refusal.
func TestReadmeExamplesIssueIDs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ language, program, flag, use string }{
		{"python", "python3", "-c", `
print(next_ids(url, "orders", 2), next_ids(url, "orders"))
try:
    next_ids(url, "a%20b")
except RuntimeError as error:
    print(error)
`},
		{"js", "node", "-e", `
(async () => {
  console.log(await nextIds(url, "orders", 2), await nextIds(url, "orders"));
  await nextIds(url, "a%20b").catch((error) => console.log(error.message));
})();
`},
	} {
		t.Run(tt.language, func(t *testing.T) {
			t.Parallel()
			code := snippet(t, tt.language)
			if lines := strings.Count(code, "\n"); lines > 11 {
				t.Errorf("got an example of %d lines, want a short one", lines)
			}
			program, err := exec.LookPath(tt.program)
			if err != nil && tt.program == "node" {
				t.Log("Node.js is not installed")
				return
			}
			if err != nil {
				redistest.Missing(t, err.Error())
			}
			d := open(t, redistest.StartMini(t))
			refused := false
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !refused {
					refused = true // requests come one after the other
					w.Header().Set("Retry-After", "0")
					w.WriteHeader(http.StatusServiceUnavailable)
					_, _ = w.Write([]byte("{}"))
					return
				}
				d.ServeHTTP(w, r)
			}))
			t.Cleanup(server.Close)
			declared := "url = '" + server.URL + "'\n"
			out, err := exec.CommandContext(t.Context(), program, tt.flag, declared+code+tt.use).CombinedOutput()
			text := strings.NewReplacer(" ", "", "\n", "", "\"", "'").Replace(string(out))
			if want := "['orders/NorthServer/1-A','orders/NorthServer/2-A']['orders/NorthServer/3-A']"; err != nil || !strings.HasPrefix(text, want) || !strings.Contains(text, "whitespace") {
				t.Errorf("got %s, %v, want %s and a refusal that names the white space", out, err, want)
			}
		})
	}
}
