-- What is asked of Phoenix, DuckDB and Basalt by tests/reference/peers.py, word for word the same: LINEITEM and ORDERS of TPC-H, and a table of
-- a key and two random floats.
--
-- Every statement has a head as in main-job.sql; run: rows (the first rows of the answer must be the same) or count (as many rows).

-- name: count
-- title: COUNT(*)
-- run: rows
-- answer: rows
SELECT COUNT(*) FROM lineitem;

-- name: count_1000
-- title: COUNT(*) WHERE l_quantity < 1000
-- run: rows
-- answer: rows
SELECT COUNT(*) FROM lineitem WHERE l_quantity < 1000;

-- name: count_24
-- title: COUNT(*) WHERE l_quantity < 24
-- run: rows
-- answer: rows
SELECT COUNT(*) FROM lineitem WHERE l_quantity < 24;

-- name: equal
-- title: COUNT(*) WHERE l_partkey = 1000
-- run: rows
-- answer: rows
SELECT COUNT(*) FROM lineitem WHERE l_partkey = 1000;

-- name: point
-- title: a row by its key
-- run: rows
-- answer: rows
SELECT l_comment FROM lineitem WHERE l_orderkey = {key} AND l_linenumber = 1;

-- name: distinct
-- title: COUNT(DISTINCT l_orderkey)
-- run: rows
-- answer: rows
SELECT COUNT(DISTINCT l_orderkey) FROM lineitem;

-- name: offset
-- title: LIMIT 10 OFFSET {offset}
-- run: rows
-- answer: rows
SELECT l_orderkey, l_linenumber FROM lineitem LIMIT 10 OFFSET {offset};

-- name: groups
-- title: GROUP BY l_shipmode
-- run: rows
-- answer: rows
SELECT l_shipmode, COUNT(*), SUM(l_quantity) FROM lineitem GROUP BY l_shipmode ORDER BY l_shipmode;

-- name: q1
-- title: TPC-H Q1
-- run: rows
-- answer: rows
SELECT l_returnflag, l_linestatus, SUM(l_quantity), SUM(l_extendedprice), SUM(l_extendedprice * (1 - l_discount)),
       SUM(l_extendedprice * (1 - l_discount) * (1 + l_tax)), COUNT(*)
FROM lineitem WHERE l_shipdate <= TO_DATE('1998-09-02')
GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus;

-- name: q6
-- title: TPC-H Q6
-- run: rows
-- answer: rows
SELECT SUM(l_extendedprice * l_discount) FROM lineitem
WHERE l_shipdate >= TO_DATE('1994-01-01') AND l_shipdate < TO_DATE('1995-01-01')
  AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24;

-- name: top
-- title: ORDER BY l_extendedprice LIMIT 10
-- run: rows
-- answer: rows
SELECT l_extendedprice, l_orderkey, l_linenumber FROM lineitem
ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 10;

-- name: sort
-- title: SELECT * ORDER BY l_extendedprice, to the end
-- run: count
-- answer: count
SELECT * FROM lineitem ORDER BY l_extendedprice;

-- name: join_100
-- title: join with the orders of 100 customers
-- run: rows
-- answer: rows
SELECT COUNT(*), SUM(l_extendedprice) FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_custkey <= 100;

-- name: join_all
-- title: join with all orders
-- run: rows
-- answer: rows
SELECT COUNT(*), SUM(l_extendedprice) FROM lineitem JOIN orders ON l_orderkey = o_orderkey;

-- name: sum_float
-- title: SUM of a random float
-- run: rows
-- answer: rows
SELECT SUM(v1) FROM floats;

-- name: count_float
-- title: COUNT(*) WHERE a random float < 0.5
-- run: rows
-- answer: rows
SELECT COUNT(*) FROM floats WHERE v1 < 0.5;
