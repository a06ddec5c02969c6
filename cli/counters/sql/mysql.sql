/* Lists each table with the greatest number that is in use as a key, or may be. Run it with mysql --batch --raw. */
/*!80000 SET SESSION information_schema_stats_expiry = 0 */; -- otherwise AUTO_INCREMENT may be a day old
SET NAMES utf8mb4;
SET SESSION sql_mode = '';
SET SESSION group_concat_max_len = 4294967295;
SET @hilo = (
  SELECT CONCAT(
    'SELECT CONCAT(IF(name REGEXP ''[",\r\n]'', CONCAT(''"'', REPLACE(name, ''"'', ''""''), ''"''), name), '','', MAX(top)) AS `collection,max` FROM (',
    GROUP_CONCAT(
      CONCAT('SELECT ', QUOTE(t.TABLE_NAME), ' COLLATE utf8mb4_bin AS name, GREATEST(0, ', COALESCE(t.AUTO_INCREMENT, 1) - 1,
        ', COALESCE((SELECT FLOOR(MAX(`', REPLACE(c.COLUMN_NAME, '`', '``'), '`)) FROM `',
        REPLACE(t.TABLE_SCHEMA, '`', '``'), '`.`', REPLACE(t.TABLE_NAME, '`', '``'), '`), 0)',
        IF(c.COLUMN_DEFAULT LIKE 'nextval(%)', -- a sequence, of MariaDB
          CONCAT(', COALESCE((SELECT IF(increment > 0 AND next_not_cached_value > start_value, next_not_cached_value - 1, 0) FROM ',
            SUBSTRING(c.COLUMN_DEFAULT, 9, CHAR_LENGTH(c.COLUMN_DEFAULT) - 9), '), 0)'), ''),
        ') AS top')
      SEPARATOR ' UNION ALL '),
    ') AS found GROUP BY name ORDER BY name')
  FROM information_schema.TABLES AS t
  JOIN information_schema.COLUMNS AS c
    ON CAST(c.TABLE_SCHEMA AS BINARY) = CAST(t.TABLE_SCHEMA AS BINARY) AND CAST(c.TABLE_NAME AS BINARY) = CAST(t.TABLE_NAME AS BINARY)
  LEFT JOIN ( -- compared as bytes, since names that differ in case only would count as one table
    SELECT CAST(TABLE_SCHEMA AS BINARY) AS of_schema, CAST(TABLE_NAME AS BINARY) AS of_table, MAX(COLUMN_NAME) AS of_column
    FROM information_schema.STATISTICS WHERE INDEX_NAME = 'PRIMARY' GROUP BY of_schema, of_table HAVING COUNT(*) = 1
  ) AS k ON k.of_schema = CAST(t.TABLE_SCHEMA AS BINARY) AND k.of_table = CAST(t.TABLE_NAME AS BINARY) AND k.of_column = c.COLUMN_NAME
  WHERE t.TABLE_SCHEMA NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
    AND t.TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')
    AND (c.EXTRA LIKE '%auto_increment%'
      OR c.DATA_TYPE IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') AND (k.of_column IS NOT NULL OR c.COLUMN_DEFAULT LIKE 'nextval(%)'))
);
PREPARE hilo FROM @hilo;
EXECUTE hilo;
