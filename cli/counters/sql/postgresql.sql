/* Lists each table with the greatest number that is in use as a key, or may be. Run it with psql -X --csv. */
with recursive off as materialized (
  select set_config('row_security', 'off', true) as setting -- a table with rows that are hidden is an error
),
kinds(type, kind) as (
  select oid, case when typname in ('float4', 'float8') then 'float' when typcategory = 'N' then 'number' else 'text' end
  from pg_catalog.pg_type where typtype = 'b' and typcategory in ('N', 'S') and typname !~ '^reg'
  union
  select t.oid, k.kind from pg_catalog.pg_type t join kinds k on t.typtype = 'd' and t.typbasetype = k.type
),
columns as (
  select c.oid as class, c.relname, c.relnamespace, coalesce(pg_partition_root(c.oid), c.oid) as root, a.attnum, a.attname, k.kind,
    exists (
      select from pg_catalog.pg_index x where x.indrelid = c.oid and x.indisunique and x.indnkeyatts = 1 and x.indkey[0] = a.attnum
        and (x.indisprimary or not exists (select from pg_catalog.pg_index p where p.indrelid = c.oid and p.indisprimary))
    ) as is_key,
    exists (select from pg_catalog.pg_index x where x.indrelid = c.oid and x.indisunique and a.attnum = any (x.indkey)) as in_key
  from pg_catalog.pg_class c
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join kinds k on k.type = a.atttypid
  where c.relkind in ('r', 'p', 'f')
),
functions as (
  select p.oid, '(^|\W)' || regexp_replace(p.proname, '(\W)', '\\\1', 'g') || '(\W|$)' as word, pg_get_functiondef(p.oid) as text
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  where p.prokind = 'f'
),
sequences as (
  select s.oid, s.relnamespace, '(^|\W)' || regexp_replace(s.relname, '(\W)', '\\\1', 'g') || '(\W|$)' as word,
    regexp_replace(translate(lower(s.relname), '_', ''), '^seq(uence)?|seq(uence)?$', '') as of_table
  from pg_catalog.pg_class s where s.relkind = 'S'
),
parts(class, attnum, source, text) as ( -- a default, or a trigger before an insert (of which the column is not known), and the functions that it calls
  select adrelid, adnum, oid, pg_get_expr(adbin, adrelid) from pg_catalog.pg_attrdef where pg_get_expr(adbin, adrelid) ~ '[(]' -- calls a function
  union
  select tgrelid, 0::smallint, oid, pg_get_triggerdef(oid) from pg_catalog.pg_trigger where tgtype & 7 = 7
  union
  select p.class, p.attnum, p.source, f.text from parts p join functions f on p.text ~* f.word and f.text ~ 'FUNCTION' -- which all have: with few rows expected, the query is not compiled, which takes longer
),
code as materialized (
  select class, attnum, string_agg(text, ' ') as text from parts group by class, attnum, source
),
generators(class, attnum, sequence) as (
  -- identity columns, and sequences that a column owns
  select refobjid, refobjsubid, objid from pg_catalog.pg_depend
  where classid = 'pg_class'::regclass and refclassid = 'pg_class'::regclass and refobjsubid > 0 and deptype in ('a', 'i')
  union
  select f.adrelid, f.adnum, d.refobjid from pg_catalog.pg_attrdef f
  join pg_catalog.pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = f.oid and d.refclassid = 'pg_class'::regclass
  union -- sequences that are looked up by their name at each insert
  select c.class, c.attnum, s.oid from code c join sequences s on c.text ~* s.word where c.text ~* 'nextval'
  union -- sequences that only an ORM uses, by their usual names
  select c.class, c.attnum, s.oid from columns c
  join sequences s on s.relnamespace = c.relnamespace
    and s.of_table in (translate(lower(c.relname), '_', ''), translate(lower(c.relname || c.attname), '_', ''))
  where c.is_key
),
keys(root, class, attname, kind) as (
  select c.root, c.class, c.attname, c.kind from columns c where c.is_key and c.kind is not null
  union
  select c.root, c.class, c.attname, c.kind from columns c
  join generators g on g.class = c.class and g.attnum = c.attnum
  join pg_catalog.pg_sequence s on s.seqrelid = g.sequence
  union -- columns that a trigger fills
  select c.root, c.class, c.attname, c.kind from columns c
  join code t on t.class = c.class and t.attnum = 0 and (c.in_key or t.text ~* 'nextval')
    and t.text ~* ('(^|\W)new\s*\.\s*"?' || regexp_replace(c.attname, '(\W)', '\\\1', 'g') || '"?\s*:?=|\minto\s+(strict\s+)?new\s*\.\s*"?'
      || regexp_replace(c.attname, '(\W)', '\\\1', 'g') || '"?(\W|$)')
),
queries(root, of_text, query) as (
  select k.root, k.kind = 'text', format(case k.kind
      when 'float' then 'select floor(max(%I))::bigint as max from %I.%I'
      when 'text' then 'select max(n) filter (where n <= 9223372036854775807) as max from (select %1$I::text::numeric as n from %2$I.%3$I where %1$I::text ~ ''^0*[0-9]{1,19}$'' offset 0) digits'
      else 'select case when max(%1$I)::text::numeric > 1e300 then max(%1$I)::text::bigint else trunc(max(%1$I)::text::numeric) end as max from %2$I.%3$I'
    end, k.attname, n.nspname, c.relname)
  from (select distinct root, attname, kind from keys where kind is not null) k
  join pg_catalog.pg_class c on c.oid = k.root
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  union all -- a number that a sequence returned stands for a block of as many as its increment
  select f.root, false, format('select case when is_called then least(last_value::numeric + %s, 9223372036854775807) when last_value <> %s then last_value - 1 end as max from %I.%I',
    s.seqincrement - 1, s.seqstart, n.nspname, q.relname)
  from (select distinct c.root, g.sequence from generators g join columns c on c.class = g.class) f
  join pg_catalog.pg_sequence s on s.seqrelid = f.sequence and s.seqincrement > 0
  join pg_catalog.pg_class q on q.oid = s.seqrelid
  join pg_catalog.pg_namespace n on n.oid = q.relnamespace
  union all -- what cannot be judged fails, with the name of the table
  select distinct c.root, false, format('select %L::bigint as max', format('the column or the sequence by which a trigger or a default fills %I.%I is not known', n.nspname, c.relname))
  from code t
  join columns c on c.class = t.class
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where t.text ~* 'nextval' and not (
    exists (select from generators g join pg_catalog.pg_sequence s on s.seqrelid = g.sequence where g.class = t.class)
    and exists (select from keys k where k.class = t.class))
),
found as (
  select c.relname, q.of_text,
    ((xpath('/row/max/text()', query_to_xml(q.query || left(off.setting, 0), false, true, '')))[1])::text::numeric as max
  from queries q
  join pg_catalog.pg_class c on c.oid = q.root
  cross join off
)
select relname as collection, greatest(max(max), 0) as max
from found
where max is not null or not of_text -- a text that is a key holds whole numbers where one of them is
group by relname
order by relname
