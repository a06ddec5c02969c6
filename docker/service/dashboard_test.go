package main

import (
	"encoding/json"
	"os"
	"slices"
	"testing"
)

type dashboard struct {
	UID        string
	Templating struct{ List []struct{ Name string } }
	Panels     []struct {
		ID                       int
		Type, Title, Description string
		Datasource               struct{ UID string }
		GridPos                  struct{ X, Y, W, H int }
		Targets                  []struct {
			Expr, LegendFormat string
			Datasource         struct{ UID string }
		}
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile("../grafana/dashboards/hilo.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDashboardIsComplete(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	ids, cells := make(map[int]bool), make(map[[2]int]string)
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if there := cells[[2]int{x, y}]; there != "" || x > 23 {
					t.Errorf("%s and %s overlap, or are too wide", p.Title, there)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			continue
		}
		if p.Title == "" || p.Description == "" || len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" {
			t.Errorf("panel %d %q lacks something", p.ID, p.Title)
		}
	}
	var variables []string
	for _, v := range d.Templating.List {
		variables = append(variables, v.Name)
	}
	if !slices.Equal(variables, []string{"datasource", "job", "collection", "server"}) {
		t.Errorf("variables %q", variables)
	}
}
