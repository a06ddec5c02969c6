package counters

import (
	"context"
	"embed"
	"fmt"

	"github.com/hilo-id/hilo/cli/internal/base"
	"github.com/hilo-id/hilo/cli/internal/exit"
)

// seedQueries has a query for each database, whose result is a seed file.
//
//go:embed sql/*.sql
var seedQueries embed.FS

// seedQuery is the command that prints the query for a database.
type seedQuery struct {
	*base.Session
	Database string
}

// Run prints the query as it is, whatever --output is, because it is for another program.
func (s seedQuery) Run(context.Context) error {
	text, err := seedQueries.ReadFile("sql/" + s.Database + ".sql")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Stdout, "%s", text)
	return exit.Written(err)
}
