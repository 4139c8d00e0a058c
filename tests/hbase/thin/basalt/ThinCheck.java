// SPDX-License-Identifier: Apache-2.0
package basalt;

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/** ThinCheck HOST:PORT   Phoenix's thin JDBC driver against `basalt serve --phoenix-port`, as programs use it. */
public final class ThinCheck {
    private static int done;

    private ThinCheck() {}

    private static void check(Object found, Object wanted, String what) {
        if (!Objects.equals(found, wanted)) {
            throw new AssertionError(what + ": " + found + ", not " + wanted);
        }
        done++;
    }

    private interface Call {
        void run() throws SQLException;
    }

    private static void refused(int code, String state, Call call) {
        try {
            call.run();
        } catch (SQLException error) {
            check(error.getErrorCode() + " " + error.getSQLState(), code + " " + state, error.getMessage());
            return;
        }
        throw new AssertionError("not refused with " + code);
    }

    public static void main(String[] args) throws Exception {
        Class.forName("org.apache.phoenix.queryserver.client.Driver");
        String url = "jdbc:phoenix:thin:url=http://" + args[0] + ";serialization=PROTOBUF";
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(true);
            types(connection);
            rows(connection);
            errors(connection);
            metadata(connection);
        }
        try (Connection connection = DriverManager.getConnection(url)) {
            commits(connection, url);
        }
        System.out.println(done + " checks passed");
    }

    private static void types(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            check(statement.executeUpdate("create table jt.types (k bigint primary key, b boolean, i integer, s smallint, d double, f float,"
                    + " n decimal(12, 3), v varchar(40), c char(3), x varbinary, da date, ts timestamp, l bigint array)"), 0, "DDL");
        }
        Timestamp moment = new Timestamp(1_772_281_801_250L);
        try (PreparedStatement upsert = connection.prepareStatement("upsert into jt.types values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            check(upsert.getParameterMetaData().getParameterCount(), 13, "parameters");
            upsert.setLong(1, 1L << 50);
            upsert.setBoolean(2, true);
            upsert.setInt(3, -5);
            upsert.setShort(4, (short) 300);
            upsert.setDouble(5, 0.1);
            upsert.setFloat(6, 1.5f);
            upsert.setBigDecimal(7, new BigDecimal("-12.345"));
            upsert.setString(8, "zw\u00f6lf 'x'");
            upsert.setString(9, "abc");
            upsert.setBytes(10, new byte[] {0, -1, 7});
            upsert.setDate(11, Date.valueOf("2026-02-28"));
            upsert.setTimestamp(12, moment);
            upsert.setArray(13, connection.createArrayOf("BIGINT", new Object[] {4L, 5L}));
            check(upsert.executeUpdate(), 1, "an UPSERT");
            upsert.setLong(1, 2);
            for (int at = 2; at <= 13; at++) {
                upsert.setNull(at, Types.NULL);
            }
            check(upsert.executeUpdate(), 1, "NULLs");
        }
        try (PreparedStatement select = connection.prepareStatement("select * from jt.types where k >= ? order by k desc")) {
            check(select.getMetaData().getColumnCount(), 13, "columns before it runs");
            select.setLong(1, 2);
            try (ResultSet row = select.executeQuery()) {
                check(row.next(), true, "a row");
                check(row.getLong("K"), 1L << 50, "BIGINT");
                check(row.getBoolean("B"), true, "BOOLEAN");
                check(row.getInt("I"), -5, "INTEGER");
                check(row.getShort("S"), (short) 300, "SMALLINT");
                check(row.getDouble("D"), 0.1, "DOUBLE");
                check(row.getFloat("F"), 1.5f, "FLOAT");
                check(row.getBigDecimal("N"), new BigDecimal("-12.345"), "DECIMAL");
                check(row.getString("V"), "zw\u00f6lf 'x'", "VARCHAR");
                check(row.getString("C"), "abc", "CHAR");
                check(Arrays.toString(row.getBytes("X")), "[0, -1, 7]", "VARBINARY");
                check(row.getDate("DA").toString(), "2026-02-28", "DATE");
                check(row.getTimestamp("TS"), moment, "TIMESTAMP");
                check(Arrays.toString((Object[]) row.getArray("L").getArray()), "[4, 5]", "an array");
                check(row.next(), true, "the row of NULLs");
                check(row.getObject("I") == null && row.getString("V") == null && row.getBigDecimal("N") == null, true, "NULLs");
                check(row.next(), false, "the end");
            }
        }
    }

    private static void rows(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table jt.many (k integer primary key, v varchar)");
        }
        try (PreparedStatement upsert = connection.prepareStatement("upsert into jt.many values (?, ?)")) {
            for (int k = 0; k < 3000; k++) {
                upsert.setInt(1, k);
                upsert.setString(2, "row " + k);
                upsert.addBatch();
            }
            check(Arrays.stream(upsert.executeBatch()).sum(), 3000, "a batch");
        }
        try (Statement statement = connection.createStatement()) {
            statement.addBatch("upsert into jt.many values (3000, 'x')");
            statement.addBatch("delete from jt.many where k = 3000");
            check(statement.executeBatch().length, 2, "a batch of texts");
        }
        for (int size : new int[] {1, 100, 2999, 5000}) {
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(size);
                int limit = size == 1 ? 40 : 5000;
                try (ResultSet row = statement.executeQuery("select k from jt.many order by k desc limit " + limit)) {
                    int wanted = 2999;
                    while (row.next()) {
                        if (row.getInt(1) != wanted--) {
                            throw new AssertionError("row " + row.getInt(1));
                        }
                    }
                    check(2999 - wanted, Math.min(limit, 3000), "rows by " + size);
                }
            }
        }
        try (Statement statement = connection.createStatement()) {
            statement.setMaxRows(7);
            int found = 0;
            try (ResultSet row = statement.executeQuery("select * from jt.many")) {
                while (row.next()) {
                    found++;
                }
            }
            check(found, 7, "a limit of rows");
        }
        try (Statement statement = connection.createStatement();
                ResultSet plan = statement.executeQuery("explain select * from jt.many where k = 5")) {
            check(plan.next() && plan.getString(1).contains("MANY"), true, "EXPLAIN");
        }
    }

    private static void errors(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            refused(1012, "42M03", () -> statement.executeQuery("select * from jt.nothing"));
            refused(504, "42703", () -> statement.executeQuery("select nothing from jt.many"));
            refused(601, "42P00", () -> statement.executeQuery("selec 1"));
            try (ResultSet row = statement.executeQuery("select count(*) from jt.many")) {
                check(row.next() ? row.getLong(1) : -1, 3000L, "after errors");
            }
        }
    }

    private static void metadata(Connection connection) throws SQLException {
        DatabaseMetaData about = connection.getMetaData();
        List<String> tables = new ArrayList<>();
        try (ResultSet row = about.getTables(null, "JT", "%", new String[] {"TABLE"})) {
            while (row.next()) {
                tables.add(row.getString("TABLE_NAME"));
            }
        }
        check(tables, List.of("MANY", "TYPES"), "tables");
        List<String> columns = new ArrayList<>();
        try (ResultSet row = about.getColumns(null, "JT", "MANY", null)) {
            while (row.next()) {
                columns.add(row.getString("COLUMN_NAME") + " " + row.getInt("DATA_TYPE"));
            }
        }
        check(columns, List.of("K 4", "V 12"), "columns");
        try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery("select k as a, v from jt.many limit 1")) {
            ResultSetMetaData columnsOf = row.getMetaData();
            check(columnsOf.getColumnLabel(1) + columnsOf.getColumnType(1) + columnsOf.getColumnTypeName(2), "A4VARCHAR", "columns of rows");
        }
    }

    private static void commits(Connection connection, String url) throws SQLException {
        try (Connection watching = DriverManager.getConnection(url);
                Statement watcher = watching.createStatement();
                Statement statement = connection.createStatement()) {
            statement.execute("create table jt.commits (k integer primary key)");
            connection.setAutoCommit(false);
            check(connection.getAutoCommit(), false, "autocommit");
            statement.executeUpdate("upsert into jt.commits values (1)");
            check(count(watcher), 0L, "before the commit");
            connection.rollback();
            connection.commit();
            check(count(watcher), 0L, "after a rollback");
            statement.executeUpdate("upsert into jt.commits values (1)");
            connection.commit();
            check(count(watcher), 1L, "behind the commit");
        }
    }

    private static long count(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("select count(*) from jt.commits")) {
            row.next();
            return row.getLong(1);
        }
    }
}
