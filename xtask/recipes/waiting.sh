# A program that computes a little between waits for the drive: its waits differ from drive to drive, what it computes
# does not. The second argument says which: transactions, messages or reads.
set -eu
python3 - "$@" <<'END'
import os, random, sqlite3, sys, zlib

step, program = sys.argv[1:]
chance = random.Random(18)
text = chance.randbytes(200_000)

def compute():
    zlib.compress(text)

def transactions():
    shop = sqlite3.connect("shop.db", isolation_level=None)
    if step == "prepare":
        shop.execute("PRAGMA journal_mode=WAL")
        shop.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, note BLOB)")
        return
    shop.execute("PRAGMA synchronous=FULL")
    for number in range(60):
        compute()
        shop.execute("BEGIN")
        for item in range(20):
            shop.execute("INSERT INTO item(note) VALUES (?)", (chance.randbytes(300),))
        shop.execute("COMMIT")

def messages():
    if step == "prepare":
        for folder in ["tmp", "new"]:
            os.mkdir(folder)
        return
    new = os.open("new", os.O_RDONLY)
    for number in range(120):
        compute()
        file = os.open(f"tmp/{number}", os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(file, chance.randbytes(8_000))
        os.fsync(file)
        os.close(file)
        os.rename(f"tmp/{number}", f"new/{number}")
    os.fsync(new)

def reads():
    if step == "prepare":
        with open("large", "wb") as file:
            for part in range(1024):
                file.write(chance.randbytes(1 << 20))
        return
    file = os.open("large", os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    for number in range(600):
        compute()
        os.pread(file, 4096, chance.randrange(262_144) * 4096)

{"transactions": transactions, "messages": messages, "reads": reads}[program]()
os.sync()
END
