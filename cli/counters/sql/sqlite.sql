/* Prints a query that lists each table with the greatest number that is in use as a key, or may be. Run that with sqlite3 -csv -header. */
with tables as (
  select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite\_%' escape '\'
),
columns as (
  select t.name as of_table, c.name, upper(c.type) as type, c.pk from tables t join pragma_table_info(t.name) c
),
indexed as (
  select t.name as of_table, x.name, count(*) over (partition by i.name) as parts
  from tables t join pragma_index_list(t.name) i on i."unique" join pragma_index_info(i.name) x
),
single as (
  select * from columns c
  where pk = 1 and not exists (select 1 from columns other where other.of_table = c.of_table and other.pk > 1)
    or (of_table, name) in (select of_table, name from indexed where parts = 1)
      and not exists (select 1 from columns other where other.of_table = c.of_table and other.pk > 0)
),
keys as (
  select * from single
  union
  select c.* from columns c -- which a trigger fills
  join main.sqlite_master r on r.type = 'trigger' and r.tbl_name = c.of_table collate nocase and r.sql like '%insert%update%set%' || c.name || '%=%'
  where (c.pk > 0 or (c.of_table, c.name) in (select of_table, name from indexed)) and c.of_table not in (select of_table from single)
),
greatest as (
  select of_table,
    type = '' or type = 'ANY' or type like '%INT%' or type like 'NUM%' or type like 'DEC%' or type like 'REAL%' or type like 'DOUB%' or type like 'FLOA%' as of_numbers,
    case when type = 'INTEGER' and pk = 1 and not exists (select 1 from pragma_index_list(of_table) where origin = 'pk') -- holds nothing else
      then printf('(select max("%w") from main."%w")', name, of_table)
      else '(select max(case typeof(k) when ''integer'' then k when ''real'' then k when ''text'' then case '
        || 'when k not glob ''*[^0-9]*'' and length(ltrim(k, ''0'')) between 1 and 18 + (ltrim(k, ''0'') <= ''9223372036854775807'') then cast(k as integer) end end)'
        || printf(' from (select "%w" as k from main."%w"))', name, of_table)
    end as query
  from keys
  union all
  select of_table, false, printf('(select max(seq) from main.sqlite_sequence where name = %Q)', of_table)
  from keys where type = 'INTEGER' and pk = 1 and exists (select 1 from main.sqlite_master where name = 'sqlite_sequence') -- which there is with the first AUTOINCREMENT
)
select 'select column1 as collection, case typeof(max(column2)) when ''real'' then printf(''%.0f'', max(column2)) else max(column2) end as max from (values '
  || group_concat(printf(case when of_numbers then '(%Q, max(0, coalesce(%s, 0)))' else '(%Q, max(0, %s))' end, of_table, query), ', ') -- a column for others counts where a number is in it
  || ') where column2 is not null group by 1 order by 1;'
from greatest;
