/* Lists each table with the greatest number that is in use as a key, or may be. Run it with mysql --batch --raw. */
/*!80000 SET SESSION information_schema_stats_expiry = 0 */; -- otherwise AUTO_INCREMENT may be a day old
SET NAMES utf8mb4;
SET SESSION sql_mode = '';
SET SESSION group_concat_max_len = 4294967295;
SET @hilo = (
  -- Names are compared as bytes, since those that differ in case only would count as one.
  WITH RECURSIVE tabs AS (
    SELECT CAST(TABLE_SCHEMA AS BINARY) AS of_schema, CAST(TABLE_NAME AS BINARY) AS of_table, AUTO_INCREMENT AS next,
      QUOTE(TABLE_NAME) AS quoted, CONCAT('`', REPLACE(TABLE_SCHEMA, '`', '``'), '`.`', REPLACE(TABLE_NAME, '`', '``'), '`') AS path,
      LOWER(REPLACE(TABLE_NAME, '_', '')) AS plain
    FROM information_schema.TABLES
    WHERE TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
  ),
  cols AS (
    SELECT CAST(c.TABLE_SCHEMA AS BINARY) AS of_schema, CAST(c.TABLE_NAME AS BINARY) AS of_table, CAST(c.COLUMN_NAME AS BINARY) AS of_column,
      CONCAT('`', REPLACE(c.COLUMN_NAME, '`', '``'), '`') AS path, LOWER(REPLACE(c.COLUMN_NAME, '_', '')) AS plain,
      CONCAT('\\bNEW\\s*\\.\\s*`?\\Q', REPLACE(c.COLUMN_NAME, '`', '``'), '\\E`?(\\s*:?=|\\s*[,;]|\\s+FROM\\b)') AS filled, c.EXTRA LIKE '%auto_increment%' AS counts,
      CASE WHEN c.DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'decimal', 'float', 'double', 'bit', 'year') THEN 'number'
        WHEN c.DATA_TYPE IN ('char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext') THEN 'text' ELSE '' END AS kind
    FROM information_schema.COLUMNS AS c
  ),
  indexes AS (
    SELECT s.of_schema, s.of_table, s.of_index, MAX(s.of_column) AS of_column, COUNT(*) AS parts
    FROM (
      SELECT CAST(TABLE_SCHEMA AS BINARY) AS of_schema, CAST(TABLE_NAME AS BINARY) AS of_table, CAST(INDEX_NAME AS BINARY) AS of_index, CAST(COLUMN_NAME AS BINARY) AS of_column
      FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0
    ) AS s
    JOIN cols AS c ON c.of_schema = s.of_schema AND c.of_table = s.of_table AND c.of_column = s.of_column -- not the hidden ones of a versioned table
    GROUP BY s.of_schema, s.of_table, s.of_index
  ),
  parts AS ( -- a default, or a trigger before an insert (of which the column is not known), and the functions that it calls
    SELECT CAST(TABLE_SCHEMA AS BINARY) AS of_schema, CAST(TABLE_NAME AS BINARY) AS of_table, CAST(COLUMN_NAME AS BINARY) AS of_column,
      CAST('' AS BINARY) AS source, CAST(COLUMN_DEFAULT AS CHAR(100000)) AS code
    FROM information_schema.COLUMNS WHERE COLUMN_DEFAULT LIKE '%nextval(%'
    UNION
    SELECT CAST(EVENT_OBJECT_SCHEMA AS BINARY), CAST(EVENT_OBJECT_TABLE AS BINARY), CAST('' AS BINARY), CAST(TRIGGER_NAME AS BINARY), ACTION_STATEMENT
    FROM information_schema.TRIGGERS WHERE ACTION_TIMING = 'BEFORE' AND EVENT_MANIPULATION LIKE '%INSERT%'
    UNION
    SELECT p.of_schema, p.of_table, p.of_column, p.source, r.ROUTINE_DEFINITION
    FROM parts AS p
    JOIN information_schema.ROUTINES AS r
      ON r.ROUTINE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys') AND p.code REGEXP CONCAT('\\b\\Q', r.ROUTINE_NAME, '\\E\\b')
  ),
  sources AS (
    SELECT of_schema, of_table, of_column, GROUP_CONCAT(code SEPARATOR ' ') AS code, MAX(code REGEXP 'nextval|next\\s+value') AS draws
    FROM parts GROUP BY of_schema, of_table, of_column, source
  ),
  nums AS (
    SELECT i.of_schema, i.of_table, i.of_column FROM indexes AS i
    WHERE i.parts = 1 AND (i.of_index = 'PRIMARY'
      OR NOT EXISTS (SELECT 1 FROM indexes AS p WHERE p.of_schema = i.of_schema AND p.of_table = i.of_table AND p.of_index = 'PRIMARY'))
    UNION
    SELECT of_schema, of_table, of_column FROM cols WHERE counts
    UNION
    SELECT c.of_schema, c.of_table, c.of_column FROM cols AS c
    JOIN sources AS s ON s.of_schema = c.of_schema AND s.of_table = c.of_table AND (s.of_column = c.of_column
      OR s.of_column = '' AND s.code REGEXP c.filled AND (s.draws OR EXISTS (
        SELECT 1 FROM information_schema.STATISTICS AS i WHERE i.NON_UNIQUE = 0
          AND CAST(i.TABLE_SCHEMA AS BINARY) = c.of_schema AND CAST(i.TABLE_NAME AS BINARY) = c.of_table AND CAST(i.COLUMN_NAME AS BINARY) = c.of_column)))
  ),
  seqs AS ( -- of MariaDB
    SELECT CAST(TABLE_SCHEMA AS BINARY) AS of_schema, CONCAT('\\b\\Q', TABLE_NAME, '\\E\\b') AS word,
      CONCAT('`', REPLACE(TABLE_SCHEMA, '`', '``'), '`.`', REPLACE(TABLE_NAME, '`', '``'), '`') AS path,
      REGEXP_REPLACE(LOWER(REPLACE(TABLE_NAME, '_', '')), '^seq(uence)?|seq(uence)?$', '') AS plain
    FROM information_schema.TABLES WHERE TABLE_TYPE = 'SEQUENCE'
  ),
  gens AS (
    SELECT s.of_schema, s.of_table, q.path FROM sources AS s JOIN seqs AS q ON s.draws AND s.code REGEXP q.word
    UNION -- sequences that only an ORM uses, by their usual names
    SELECT n.of_schema, n.of_table, q.path FROM nums AS n
    JOIN tabs AS t ON t.of_schema = n.of_schema AND t.of_table = n.of_table
    JOIN cols AS c ON c.of_schema = n.of_schema AND c.of_table = n.of_table AND c.of_column = n.of_column
    JOIN seqs AS q ON q.of_schema = n.of_schema AND q.plain IN (t.plain, CONCAT(t.plain, c.plain))
  ),
  tops AS (
    SELECT t.quoted, CONCAT('GREATEST(0, ', COALESCE(t.next, 1) - 1, ', COALESCE((SELECT CAST(FLOOR(MAX(', c.path, ') + 0) AS DECIMAL(65, 0)) FROM ', t.path, '), 0))') AS top
    FROM nums AS n
    JOIN tabs AS t ON t.of_schema = n.of_schema AND t.of_table = n.of_table
    JOIN cols AS c ON c.of_schema = n.of_schema AND c.of_table = n.of_table AND c.of_column = n.of_column AND c.kind = 'number'
    UNION ALL
    SELECT t.quoted, CONCAT('(SELECT MAX(n) FROM (SELECT CAST(', c.path, ' AS DECIMAL(65, 0)) AS n FROM ', t.path, ' WHERE ', c.path, ' REGEXP ''^0*[0-9]{1,19}$'') AS digits WHERE n <= 9223372036854775807)')
    FROM nums AS n
    JOIN tabs AS t ON t.of_schema = n.of_schema AND t.of_table = n.of_table
    JOIN cols AS c ON c.of_schema = n.of_schema AND c.of_table = n.of_table AND c.of_column = n.of_column AND c.kind = 'text'
    UNION ALL
    SELECT t.quoted, CONCAT('(SELECT IF(increment >= 0 AND next_not_cached_value > start_value, next_not_cached_value - 1, 0) FROM ', g.path, ')')
    FROM gens AS g
    JOIN tabs AS t ON t.of_schema = g.of_schema AND t.of_table = g.of_table
    UNION ALL -- what cannot be judged fails, with the name of the table
    SELECT t.quoted, CONCAT('`what fills ', REPLACE(SUBSTRING(t.path, 2), '`.`', '.'))
    FROM sources AS s
    JOIN tabs AS t ON t.of_schema = s.of_schema AND t.of_table = s.of_table
    WHERE s.draws AND NOT (EXISTS (SELECT 1 FROM gens AS g WHERE g.of_schema = s.of_schema AND g.of_table = s.of_table)
      AND EXISTS (SELECT 1 FROM nums AS n WHERE n.of_schema = s.of_schema AND n.of_table = s.of_table))
  )
  SELECT CONCAT(
    'SELECT CONCAT(IF(name REGEXP ''[",\r\n]'', CONCAT(''"'', REPLACE(name, ''"'', ''""''), ''"''), name), '','', MAX(top)) AS `collection,max` FROM (',
    GROUP_CONCAT(CONCAT('SELECT ', quoted, ' COLLATE utf8mb4_bin AS name, ', top, ' AS top') SEPARATOR ' UNION ALL '),
    ') AS found WHERE top IS NOT NULL GROUP BY name ORDER BY name')
  FROM tops
);
PREPARE hilo FROM @hilo;
EXECUTE hilo;
