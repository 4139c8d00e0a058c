-- The questions of the main job: LINEITEM and ORDERS of TPC-H in a durable database, asked in SQL.
--
-- Read by `make demo`, by tests/reference/make.py, which records what DuckDB answers,
-- and by tests/reference/compare.py, which times both. The text is valid for Basalt and for DuckDB.
-- Every statement has a head:
--
--   -- name: one word, unique
--   -- title: what a reader of a table of times sees
--   -- run: demo, reference (asked in tests only), or first-row (timed to the first row, then cancelled)
--   -- answer: rows (exactly these), count (so many rows; which ones is not defined),
--   --         ordered <column> (many rows: digests of the rows and of the order of that column)
--
-- {offset} is 5,000,000 rows at scale factor 1, {key} an order in the middle; both follow the scale factor.
-- The keys of the joins are those of ORDERS by o_custkey: spread over the table, ten a customer on average.

-- name: count
-- title: COUNT(*)
-- run: demo
-- answer: rows
SELECT COUNT(*) AS n FROM lineitem;

-- name: count_1000
-- title: COUNT(*) WHERE l_quantity < 1000
-- run: demo
-- answer: rows
SELECT COUNT(*) AS n FROM lineitem WHERE l_quantity < 1000;

-- name: count_24
-- title: COUNT(*) WHERE l_quantity < 24
-- run: demo
-- answer: rows
SELECT COUNT(*) AS n FROM lineitem WHERE l_quantity < 24;

-- name: sort_first
-- title: SELECT * ORDER BY l_extendedprice, to the first row
-- run: first-row
-- answer: ordered l_extendedprice
SELECT * FROM lineitem ORDER BY l_extendedprice;

-- name: sort
-- title: SELECT * ORDER BY l_extendedprice, to the end
-- run: demo
-- answer: ordered l_extendedprice
SELECT * FROM lineitem ORDER BY l_extendedprice;

-- name: cheapest
-- title: SELECT * ORDER BY l_extendedprice LIMIT 10
-- run: demo
-- answer: count
SELECT * FROM lineitem ORDER BY l_extendedprice LIMIT 10;

-- name: cheapest_of_a_kind
-- title: the ten cheapest, then by their key
-- run: reference
-- answer: rows
SELECT * FROM lineitem ORDER BY l_extendedprice, l_orderkey, l_linenumber LIMIT 10;

-- name: latest
-- title: SELECT * ORDER BY the key DESC LIMIT 10
-- run: demo
-- answer: rows
SELECT * FROM lineitem ORDER BY l_orderkey DESC, l_linenumber DESC LIMIT 10;

-- name: join_1k
-- title: join with 1k keys
-- run: demo
-- answer: rows
SELECT COUNT(*) AS n, SUM(l_extendedprice) AS price
FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_custkey <= 100;

-- name: join_128k
-- title: join with 128k keys
-- run: demo
-- answer: rows
SELECT COUNT(*) AS n, SUM(l_extendedprice) AS price
FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_custkey <= 12800;

-- name: join_1m
-- title: join with 1M keys
-- run: demo
-- answer: rows
SELECT COUNT(*) AS n, SUM(l_extendedprice) AS price
FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_custkey <= 100000;

-- name: distinct
-- title: COUNT(DISTINCT l_orderkey)
-- run: demo
-- answer: rows
SELECT COUNT(DISTINCT l_orderkey) AS n FROM lineitem;

-- name: offset
-- title: LIMIT 10 OFFSET {offset}
-- run: demo
-- answer: count
SELECT * FROM lineitem LIMIT 10 OFFSET {offset};

-- name: offset_ordered
-- title: ORDER BY the key LIMIT 10 OFFSET {offset}
-- run: reference
-- answer: rows
SELECT * FROM lineitem ORDER BY l_orderkey, l_linenumber LIMIT 10 OFFSET {offset};

-- name: point
-- title: point lookup by primary key
-- run: demo
-- answer: rows
SELECT * FROM lineitem WHERE l_orderkey = {key} AND l_linenumber = 1;

-- name: prefix
-- title: all lines of one order
-- run: reference
-- answer: rows
SELECT * FROM lineitem WHERE l_orderkey = {key} ORDER BY l_linenumber;

-- name: q1
-- title: TPC-H Q1
-- run: demo
-- answer: rows
SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
       SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price,
       SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
       AVG(l_quantity) AS avg_qty, AVG(l_extendedprice) AS avg_price, AVG(l_discount) AS avg_disc,
       COUNT(*) AS count_order
FROM lineitem WHERE l_shipdate <= DATE '1998-09-02'
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus;

-- name: q4
-- title: TPC-H Q4
-- run: reference
-- answer: rows
SELECT o_orderpriority, COUNT(*) AS order_count FROM orders
WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01'
  AND EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
GROUP BY o_orderpriority ORDER BY o_orderpriority;

-- name: q6
-- title: TPC-H Q6
-- run: demo
-- answer: rows
SELECT SUM(l_extendedprice * l_discount) AS revenue FROM lineitem
WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;

-- name: q12
-- title: TPC-H Q12
-- run: reference
-- answer: rows
SELECT l_shipmode,
       SUM(CASE WHEN o_orderpriority = '1-URGENT' OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count,
       SUM(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' THEN 1 ELSE 0 END) AS low_line_count
FROM orders JOIN lineitem ON o_orderkey = l_orderkey
WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate
  AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
GROUP BY l_shipmode ORDER BY l_shipmode;

-- name: flags
-- title: COUNT by ship mode and return flag
-- run: reference
-- answer: rows
SELECT l_shipmode, l_returnflag, COUNT(*) AS n, MIN(l_shipdate) AS first_ship, MAX(l_comment) AS last_comment
FROM lineitem GROUP BY l_shipmode, l_returnflag HAVING COUNT(*) > 1 ORDER BY n DESC, l_shipmode, l_returnflag;
