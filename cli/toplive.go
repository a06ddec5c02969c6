package cli

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"go.uber.org/zap"
)

// live draws on the terminal until q, Ctrl-C or the end of ctx, and leaves it as it was.
func (t top) live(ctx context.Context) error {
	if isTerminal(t.Stderr) { // what is logged there would be drawn over
		t.Log = zap.NewNop()
		if t.SetRedisLog != nil {
			t.SetRedisLog(redisLog{t.Log})
		}
	}
	lookers, closeAll, err := t.lookers()
	if err != nil {
		return err
	}
	defer closeAll()

	program := tea.NewProgram(topProgram{newTopScreen(t)},
		tea.WithInput(t.Stdin), tea.WithOutput(t.Stdout), tea.WithEnvironment(t.environment()), tea.WithoutSignalHandler())
	defer context.AfterFunc(ctx, program.Quit)()

	var watching sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	for _, l := range lookers {
		watching.Go(func() { l.watch(ctx, func(found look) { program.Send(found) }) })
	}
	_, err = program.Run()
	cancel()
	closeAll()
	watching.Wait()
	return written(err)
}

// environment is what tells what the terminal can do.
func (t top) environment() []string {
	var all []string
	for _, name := range []string{
		"TERM", "COLORTERM", "NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM_PROGRAM", "TMUX", "STY", "SSH_TTY", "WT_SESSION",
	} {
		if value, ok := t.lookup(name); ok {
			all = append(all, name+"="+value)
		}
	}
	return all
}

// topProgram is a topScreen as bubbletea wants it.
type topProgram struct{ screen *topScreen }

type topTick time.Time

// tick moves the clock each second, so that what is down for a while says so.
func (topProgram) tick() tea.Cmd {
	return tea.Tick(time.Second, func(now time.Time) tea.Msg { return topTick(now) })
}

func (p topProgram) Init() tea.Cmd {
	p.screen.tick(time.Now())
	return p.tick()
}

func (p topProgram) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch m := message.(type) {
	case tea.WindowSizeMsg:
		p.screen.resize(m.Width, m.Height)
	case topTick:
		p.screen.tick(time.Time(m))
		return p, p.tick()
	case look:
		p.screen.look(m)
	case tea.PasteMsg:
		if p.screen.typing {
			p.screen.key("", m.Content)
		}
	case tea.KeyPressMsg:
		if m.String() == "ctrl+z" {
			return p, tea.Suspend
		}
		if p.screen.key(m.String(), m.Text) {
			return p, tea.Quit
		}
	}
	return p, nil
}

func (p topProgram) View() tea.View {
	view := tea.NewView(p.screen.view())
	view.AltScreen = true
	return view
}
