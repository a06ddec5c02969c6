/* Lists each table with the greatest number that is in use as a key, or may be. Run it with psql -X --csv. */
with recursive off as materialized (
  select set_config('row_security', 'off', true) as setting -- a table with rows that are hidden is an error
),
integers(type, may_be_key) as (
  select oid, oid <> 'numeric'::regtype from pg_catalog.pg_type
  where oid in ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'numeric'::regtype)
  union
  select t.oid, i.may_be_key from pg_catalog.pg_type t join integers i on t.typtype = 'd' and t.typbasetype = i.type
),
columns as (
  select c.oid as class, c.relname, c.relnamespace, coalesce(pg_partition_root(c.oid), c.oid) as root, a.attnum, a.attname,
    i.may_be_key and exists (
      select from pg_catalog.pg_index x
      where x.indrelid = c.oid and x.indisprimary and x.indnkeyatts = 1 and x.indkey[0] = a.attnum
    ) as is_key
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join integers i on i.type = a.atttypid
  where c.relkind in ('r', 'p', 'f')
),
generators(class, attnum, sequence) as (
  -- identity columns, and sequences that a column owns
  select refobjid, refobjsubid, objid from pg_catalog.pg_depend
  where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and refobjsubid > 0 and deptype in ('a', 'i')
  union -- sequences in defaults
  select f.adrelid, f.adnum, d.refobjid from pg_catalog.pg_attrdef f
  join pg_catalog.pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = f.oid and d.refclassid = 'pg_class'::regclass
  union -- sequences in defaults, by a text that is looked up at each insert
  select f.adrelid, f.adnum, replace(name[1], '''''', '''')::regclass from pg_catalog.pg_attrdef f
  cross join regexp_matches(pg_get_expr(f.adbin, f.adrelid), 'nextval\(\(''((?:[^'']|'''')+)''::text\)::regclass', 'g') name
  union -- sequences that only an ORM uses, by their usual names
  select c.class, c.attnum, s.oid from columns c
  join pg_catalog.pg_class s on s.relkind = 'S' and s.relnamespace = c.relnamespace
    and lower(s.relname) in (lower(c.relname) || '_seq', lower(c.relname || '_' || c.attname) || '_seq')
  where c.is_key
),
filled as (
  select c.root, c.attname, s.seqrelid, s.seqstart, s.seqincrement from columns c
  join generators g on g.class = c.class and g.attnum = c.attnum
  join pg_catalog.pg_sequence s on s.seqrelid = g.sequence
),
queries(root, query) as (
  select k.root, format('select max(%I)::numeric as max from %I.%I', k.attname, n.nspname, c.relname)
  from (select root, attname from columns where is_key union select root, attname from filled) k
  join pg_catalog.pg_class c on c.oid = k.root
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  union all -- a number that a sequence returned stands for a block of as many as its increment
  select f.root, format('select case when is_called then last_value::numeric + %s when last_value <> %s then last_value - 1 end as max from %I.%I',
    f.seqincrement - 1, f.seqstart, n.nspname, c.relname)
  from filled f
  join pg_catalog.pg_class c on c.oid = f.seqrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where f.seqincrement > 0
)
select c.relname as collection,
  least(greatest(max(trunc(((xpath('/row/max/text()', query_to_xml(q.query || left(off.setting, 0), false, true, '')))[1])::text::numeric)), 0), 9223372036854775807) as max
from queries q
join pg_catalog.pg_class c on c.oid = q.root
cross join off
group by c.relname
order by c.relname
