package counters

import (
	"testing"

	"github.com/hilo-id/hilo/cli/internal/clitest"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

func FuzzReadExport(f *testing.F) {
	f.Add([]byte(clitest.Furnished))
	f.Add([]byte(`{"kind":"export","version":1,"namespace":"Raven"}`))
	f.Add([]byte(`{"kind":"export","version":1,"namespace":"Raven"}` + "\n" + `{"kind":"hilo","collection":"orders\u200b","max":1}`))
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := readExport("f", "/", content)
		if err != nil && exit.Code(err) != exit.Usage {
			t.Errorf("%v", err)
		}
		for i := range file.read {
			r := &file.read[i]
			if r.Max < 0 || r.Validate("/") != nil {
				t.Errorf("%+v", r)
			}
		}
	})
}
