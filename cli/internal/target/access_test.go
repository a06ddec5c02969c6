package target

import "testing"

func TestPasswordIsSetWhereAURLHasNone(t *testing.T) {
	t.Parallel()
	const given = "given"
	tests := []struct{ name, url, server, sentinel string }{
		{"a server", "redis://h", given, ""},
		{"a server with a user", "redis://ann@h", given, ""},
		{"a server with a password", "redis://ann:own@h", "own", ""},
		{"a socket", "unix://ann@/run/redis.sock", given, ""},
		{"a cluster", "redis+cluster://ann@h1,h2", given, ""},
		{"a cluster with a password", "redis+cluster://:own@h1,h2", "own", ""},
		{"sentinels", "redis+sentinel://ann@h/m", given, ""},
		{"sentinels with a user", "redis+sentinel://ann@h/m?sentinel_username=watch", given, given},
		{"sentinels with a password", "redis+sentinel://ann:own@h/m?sentinel_username=watch&sentinel_password=theirs", "own", "theirs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(test.url)
			if err != nil {
				t.Fatal(err)
			}
			Access{Password: func() string { return given }}.Give(&got)
			server, sentinel := got.options.Password, got.options.SentinelPassword
			if provider := got.options.CredentialsProviderContext; provider != nil {
				user, password, err := provider(t.Context())
				if user != got.options.Username || server != "" || err != nil {
					t.Errorf("user %q beside %q, %v", user, server, err)
				}
				server = password
			}
			if server != test.server || sentinel != test.sentinel {
				t.Errorf("server %q, sentinel %q", server, sentinel)
			}
		})
	}
}
