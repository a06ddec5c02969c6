package base

// topics are the texts of hilo help that are of no command.
var topics = map[string]string{"urls": aboutURLs, "recover": aboutRecover, "sign-in": aboutSignIn, "ravendb": aboutRavenDB}

const (
	aboutURLs = `Servers, as --redis URL, or several as --redis NAME=URL each (in $HILO_REDIS_URL
separated by white space):
   HOST:PORT                                    redis://HOST:PORT/0
   redis://[USER:PASSWORD@]HOST:PORT/DATABASE   one server; rediss:// with TLS
   unix://[USER:PASSWORD@]/PATH?db=DATABASE     one server, by its socket
   redis+sentinel://[…@]HOST:PORT,HOST:PORT/MASTER/DATABASE
                                                the master that sentinels name;
                                                rediss+sentinel:// with TLS
   redis+cluster://[…@]HOST:PORT,HOST:PORT      a cluster; rediss+cluster://
                                                with TLS
   embedded:                                    in this process, lost at its end

In USER and PASSWORD, characters such as @ : / ? # are written with a percent
sign (%40 for @). With sentinels they are the server's; the sentinels' own
are ?sentinel_username=…&sentinel_password=…. Options such as ?dial_timeout=3s
are those of go-redis. With TLS, ?server_name=NAME compares the certificate with
NAME in place of HOST, as through a tunnel. ?skip_verify=true accepts every
certificate: whoever is on the way can read and change everything, passwords too.
Passwords are never shown; --password-file keeps them out of the command line,
for each URL without a password, with or without a user.
`
	aboutSignIn = `hilo serve, and hilo top with --listen, answer over HTTP.

On loopback (127.0.0.1, [::1]) they require neither TLS nor sign-in, and refuse
a Host that is no loopback name. On all other addresses they require both:
   --cert FILE --key FILE   the certificate of the server and its key, in PEM
   --token-file FILE        tokens, one per line: a caller sends one of them as
                            Authorization: Bearer TOKEN
   --client-ca FILE         or: the authorities of the callers' certificates,
                            which is what RavenDB's clients use
   --insecure               neither, as behind a proxy that does both
Files that change are read again. A browser sends a token as the password of any
user, or once as ?token=TOKEN to receive a cookie.

Connections above --max-connections wait, or replace an idle one. --idle-timeout
has to be longer than that of the balancer in front. After SIGTERM /readyz fails
for --drain before the listener closes, so that balancers send no more.
`
	aboutRavenDB = `RavenDB's unmodified clients get their HiLo ranges and identities from hilo
serve. The first server serves them. It needs a node tag (hilo settings set
--tag A) and, for identities, has to be their home (--identities).

--database maps a database of RavenDB to a namespace, as in --database
Shop=Raven. Without any, the namespace is the database's name in lower case.
--public-url is how clients reach this gateway, if not by the Host that they send.

--node names another gateway of the same master, as in --node
B=https://ids2.example.org, which Java, Go and Node.js use when this one is down.
Start each gateway with the others as --node. Returns are not accepted then.
Behind a balancer of several gateways set --accept-returns=false: none can take
back a range that another one issued.

Node.js and Go round numbers above 2^53-1: use --limit 9007199254740991.
Above --max-names names, of either API, the answer is 429.
`
	aboutRecover = `After a loss, identifiers that were issued could be issued again: the
server knows less than your data. Do these steps in their order. --redis
URL belongs to each command.

A. The server came back empty: commands say that it has no settings.
   1. Let running workers run: they continue above all that they saw. Start
      no new ones, which are refused anyway. Do not run hilo init as for a
      new server.
   2. Find N, the greatest number that was ever issued, of all collections:
      the greatest keys of your data (hilo seed --help), the metric
      hilo_greatest_number before the loss, the newest hilo export. Add
      4,194,304 for what workers hold, and more if one Take is for more.
   3. Do one of these, with the prefix, tag and --identities that it had. A
      server that issued identities needs --identities in a and b, and N of
      those too. A worker that makes its counters again would remove Durable.
      a. All counters continue at N:
            hilo init NorthServer/ --min-value N --durable none
      b. It gets a prefix that no server ever had. Not for plain numbers
         and not for identities, which have no prefix:
            hilo init NorthServer2/ --durable none
      c. Each counter continues above its own rows. No other is made:
            hilo init NorthServer/ --seeded-only --durable none
            hilo seed --sql postgresql > max.sql
            psql -X --csv -f max.sql shop | hilo seed --file - --after-loss
            hilo seed COLLECTION --max N --after-loss  (what has no table)
            hilo identity seed NAME --value N          (each identity)
            hilo settings set --seeded-only=false      (when all are there)
   4. Check: hilo list, hilo doctor. Then start new workers. Those that ran
      need no restart. They jump, once for each counter, and log it.
   5. When each worker has jumped, where the server was durable:
            hilo settings set --durable everysec

B. A backup was restored, or an older copy of the data was started.
   1. Keep all workers away from the server, by a firewall or ACL SETUSER.
   2. Find N as in A 2.
   3. Do one of these:
      a. hilo settings set --min-value N   (if N is far below --max-value)
      b. hilo settings set NorthServer2/   (as in A 3 b)
      c. hilo seed --file F --after-loss   (for all that hilo list shows)
   4. Check: hilo list, hilo doctor. Then let the workers in.

Where several servers issue, the others serve meanwhile. Nothing here is
to be automated: a job that runs hilo init would state that an empty
server is new.
`
)
