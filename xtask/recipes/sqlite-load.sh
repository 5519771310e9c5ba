# Loads 50,000 rows into SQLite in 100 transactions, makes an index, and asks 3,000 single rows.
set -eu
case $1 in
prepare) touch nothing ;;
run)
    {
        echo "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
        echo "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, price INT, note TEXT);"
        for t in $(seq 0 99); do
            echo "BEGIN; WITH RECURSIVE n(i) AS (SELECT $t * 500 UNION ALL SELECT i + 1 FROM n WHERE i < $t * 500 + 499)"
            echo "INSERT INTO item SELECT i, printf('item %d', i * 7919 % 50000), i * 104729 % 9973,"
            echo "  hex(zeroblob(100 + i * 31 % 400)) FROM n; COMMIT;"
        done
        echo "CREATE INDEX by_name ON item(name);"
        echo "PRAGMA wal_checkpoint(TRUNCATE);"
    } | sqlite3 shop.db >/dev/null
    echo 3 >/proc/sys/vm/drop_caches
    for i in $(seq 3000); do
        echo "SELECT length(note) FROM item WHERE name = 'item $((i * 6151 % 50000))';"
    done | sqlite3 shop.db >/dev/null
    sync
    ;;
esac
