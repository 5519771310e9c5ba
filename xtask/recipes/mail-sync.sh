# Reads the heads of 1,500 messages of a mail folder, then delivers 1,000 new ones, each flushed before it counts.
set -eu
python3 - "$1" <<'END'
import os, random, sys

chance = random.Random(18)

def deliver(number):
    size = min(2_000_000, int(chance.lognormvariate(9.2, 1.2)))
    name = f"{number:06}.mail"
    file = os.open(f"mail/tmp/{name}", os.O_WRONLY | os.O_CREAT, 0o600)
    os.write(file, b"Subject: %d\n\n" % number + chance.randbytes(size))
    return file, name

if sys.argv[1] == "prepare":
    for folder in ["tmp", "new", "cur"]:
        os.makedirs(f"mail/{folder}")
    for number in range(1500):
        file, name = deliver(number)
        os.close(file)
        os.rename(f"mail/tmp/{name}", f"mail/cur/{name}")
else:
    for name in sorted(os.listdir("mail/cur")):
        with open(f"mail/cur/{name}", "rb") as file:
            file.read(4096)
    new = os.open("mail/new", os.O_RDONLY)
    for number in range(1000):
        file, name = deliver(number)
        os.fsync(file)
        os.close(file)
        os.rename(f"mail/tmp/{name}", f"mail/new/{name}")
        if number % 20 == 19:
            os.fsync(new)
    os.sync()
END
