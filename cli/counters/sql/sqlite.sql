/* Prints a query that lists each table with the greatest number that is in use as a key, or may be. Run that with sqlite3 -csv -header. */
select 'select column1 as collection, column2 as max from (values ' || group_concat(
  printf('(%Q, max(0, coalesce((select max("%w") from main."%w"), 0)%s))', t.name, c.name, t.name,
    case when exists (select 1 from main.sqlite_master where name = 'sqlite_sequence') -- which there is with the first AUTOINCREMENT
      then printf(', coalesce((select max(seq) from main.sqlite_sequence where name = %Q), 0)', t.name)
      else ''
    end), ', ') || ') order by 1;'
from pragma_table_list t
join pragma_table_info(t.name) c
where t.schema = 'main' and t.type = 'table' and t.name not like 'sqlite\_%' escape '\'
  and c.pk = 1 and upper(c.type) like '%INT%'
  and (select count(*) from pragma_table_info(t.name) where pk > 0) = 1
