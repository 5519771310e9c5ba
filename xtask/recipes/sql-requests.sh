# Records what databases ask of the kernel and of the drive, and what they compute between: the figures of
# crates/bench/src/workloads/sql/request_pattern.rs.
#
#   sh xtask/recipes/sql-requests.sh PROGRAM FOLDER DATABASE...
#
# PROGRAM is a release build with these databases, FOLDER a directory on a drive with little else to do. Needs strace.
set -eu
python3 - "$@" <<'END'
import collections, glob, json, os, re, subprocess, sys, tempfile

program, folder, *databases = sys.argv[1:]
CALLS = "pread64,pwrite64,preadv,pwritev,read,write,fdatasync,fsync,fadvise64"

def run(database, *options, before=()):
    call = [*before, program, "run", folder, "--test", "sql", "--db", database, "--no-save", "--quiet", "--json"]
    child = subprocess.Popen([*call, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = child.stdout.read()
    _, _, usage = os.wait4(child.pid, 0)
    if not out:
        sys.exit(child.stderr.read().decode())
    test = json.loads(out)["tests"][0]
    metrics = {metric["key"].split(".", 2)[2]: metric["value"] for metric in test["metrics"]}
    # The server's, too: it has ended, and its end was waited for.
    return metrics, usage.ru_utime * 1e9, test

def parts(*names):
    return "--set=sql.parts=" + json.dumps(names)

def requests(database):
    """System calls on files of the database, in segments: each begins when files are dropped from memory."""
    place = tempfile.mkdtemp()
    trace = ["strace", "-ff", "-qq", "-y", "-ttt", "-s", "0", "-e", "trace=" + CALLS, "-o", place + "/t"]
    metrics, _, test = run(database, "--size=64MiB", "--rounds=1", "--set=sql.clients=[1]", "--set=sql.commits=1000",
                           "--set=sql.commit_time=60s", "--set=sql.threads=1", "--set=sql.iterations=256",
                           before=trace)
    lines = []
    for name in glob.glob(place + "/t.*"):
        lines += [line.split(" ", 1) for line in open(name, errors="replace")]
    lines.sort(key=lambda line: float(line[0]))
    names = ["load", "scan, index", "seek, flush, commit", "backup", "restore"]
    segment, dropping = 0, False
    counts = collections.Counter()
    for _, line in lines:
        found = re.match(r"(\w+)\(\d+<([^>]*)>.*\) += (-?\d+)", line)
        if not found or "/database" not in found[2] + "/" and "backup" not in found[2] and "restored" not in found[2] \
                and "/flush/" not in found[2]:
            continue
        call, path, size = found[1], found[2], int(found[3])
        if call == "fadvise64":
            # PostgreSQL drops files of its log itself.
            if "pg_wal" in path:
                continue
            segment, dropping = segment + (not dropping), True
            continue
        if size > 0 or call.endswith("sync"):
            dropping = False
            kind = re.sub(r"\d+", "N", path.split("/.drivescope", 1)[-1].split("/", 1)[-1])
            counts[names[min(segment, 4)], kind, call, size] += 1
    print(f"{database} {test['databases'][0]['version']}: {test['databases'][0]['rows']} rows; calls of 1 % or more")
    most = collections.Counter()
    for (segment, *_), count in counts.items():
        most[segment] += count
    for (segment, kind, call, size), count in sorted(counts.items(), key=lambda it: (names.index(it[0][0]), -it[1])):
        if count >= most[segment] / 100:
            print(f"  {segment:20} {kind:40} {call:10} {size:8} {count:8}")

def costs(database):
    """Processor time in user mode of one more round, and times of statements."""
    rows = 256 * 1024 * 1024 // 8192
    of = lambda *options: run(database, "--size=256MiB", *options)
    print(f"{database}: processor time in user mode for a page of 8 KiB, and the drive's figures")
    once = of(parts("commit"), "--rounds=1", "--set=sql.commits=16")[1]
    half = run(database, "--size=64MiB", parts("commit"), "--rounds=1", "--set=sql.commits=16")[1]
    print(f"  load     {(once - half) / rows * 4 / 3:8.0f} ns")
    for names in [("scan",), ("backup",), ("backup", "restore")]:
        few, many = of(parts(*names), "--rounds=1"), of(parts(*names), "--rounds=6")
        figures = ["device_read_bytes", "device_written_bytes", "request_bytes", "depth_mean", "time_s"]
        shown = {figure: round(many[0].get(f"{names[-1]}.{figure}", 0), 3) for figure in figures}
        print(f"  {names[-1]:8} {(many[1] - few[1]) / 5 / rows:8.0f} ns  {shown}")
    metrics = of(parts("seek", "commit"), "--set=sql.threads=1", "--set=sql.clients=[1,4]",
                 "--set=sql.iterations=20000")[0]
    for cell in ["seek_cold", "seek_warm", "flush", "commit_c1", "commit_c4"]:
        figures = ["lat_p50_us", "device_iops", "request_bytes", "depth_mean", "flushes_per_commit"]
        rate = metrics.get(f"{cell}.statements_s") or metrics.get(f"{cell}.commits_s") or metrics.get(f"{cell}.iops")
        shown = {figure: round(metrics.get(f"{cell}.{figure}", 0), 3) for figure in figures}
        print(f"  {cell:9} {shown}, requests each {metrics.get(f'{cell}.device_iops', 0) / rate:.2f}")

for database in databases:
    requests(database)
    costs(database)
END
