package base

// aboutRecover is the topic recover.
const aboutRecover = `After a loss, identifiers that were issued could be issued again: the
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
      those too.
      a. All counters continue at N:
            hilo init NorthServer/ --min-value N
      b. It gets a prefix that no server ever had. Not for plain numbers
         and not for identities, which have no prefix:
            hilo init NorthServer2/
      c. Each counter continues above its own rows. No other is made:
            hilo init NorthServer/ --seeded-only
            hilo seed --sql postgresql > max.sql
            psql -X --csv -f max.sql shop | hilo seed --file - --after-loss
            hilo seed COLLECTION --max N --after-loss  (what has no table)
            hilo identity seed NAME --value N          (each identity)
            hilo settings set --seeded-only=false      (when all are there)
   4. Check: hilo list, hilo doctor. Then start new workers. Those that ran
      need no restart. They jump, once for each counter, and log it.

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
