-- LINEITEM and ORDERS of TPC-H as Basalt tables, for files without column names (.tbl).

CREATE TABLE IF NOT EXISTS lineitem (
    l_orderkey BIGINT NOT NULL,
    l_partkey BIGINT,
    l_suppkey BIGINT,
    l_linenumber INTEGER NOT NULL,
    l_quantity DECIMAL(15, 2),
    l_extendedprice DECIMAL(15, 2),
    l_discount DECIMAL(15, 2),
    l_tax DECIMAL(15, 2),
    l_returnflag VARCHAR,
    l_linestatus VARCHAR,
    l_shipdate DATE,
    l_commitdate DATE,
    l_receiptdate DATE,
    l_shipinstruct VARCHAR,
    l_shipmode VARCHAR,
    l_comment VARCHAR
    CONSTRAINT pk PRIMARY KEY (l_orderkey, l_linenumber)
);

CREATE TABLE IF NOT EXISTS orders (
    o_orderkey BIGINT NOT NULL PRIMARY KEY,
    o_custkey BIGINT,
    o_orderstatus VARCHAR,
    o_totalprice DECIMAL(15, 2),
    o_orderdate DATE,
    o_orderpriority VARCHAR,
    o_clerk VARCHAR,
    o_shippriority INTEGER,
    o_comment VARCHAR
);
