# What cases are made of. $a, $b and $c are three blank drives of 32 MiB; a case sets $target, and $bytes if
# other devices than the target must keep their contents.
a=$(readlink -f /dev/disk/by-id/virtio-LAB-A)
b=$(readlink -f /dev/disk/by-id/virtio-LAB-B)
c=$(readlink -f /dev/disk/by-id/virtio-LAB-C)
config=/sys/kernel/config
patterns="--test transfer --cells rnd4k_q4t1.write --set transfer.area=1MiB --set transfer.ramp=0s
    --set transfer.write_once=false --rounds 1 --engine threads"

# Checksums of what must not change, past the page cache.
sums() {
    for device in ${bytes:-$target}; do dd if="$device" bs=1M iflag=direct 2>/dev/null | md5sum; done
}

# The plan, with the gate's opinion; and in $level what allows the writes, by name where that is needed.
look() {
    timeout --kill-after=2 60 drivescope run "$target" --dry-run --json --write restore $patterns \
        > "$out/plan" 2> "$out/plan.err"
    echo $? > "$out/plan.code"
    level=$(sed -n "s/.*--write '\?\(restore:[^'\"]*\)'\?.*/\1/p" "$out/plan" | head -n 1)
    level=${level:-restore}
}

# What the gate says to patterns, and what a run does that should write them.
gate() {
    udevadm settle
    sums > "$out/before"
    look
    timeout --kill-after=2 60 drivescope run "$target" --json --quiet --no-save --write "$level" $patterns \
        --time 50ms > "$out/run" 2> "$out/run.err"
    echo $? > "$out/code"
    udevadm settle
    sums > "$out/after"
}

# Starts a run that writes patterns without end, and waits until they are there.
write_patterns() {
    udevadm settle
    sums > "$out/before"
    look
    drivescope run "$target" --json --quiet --no-save --write "$level" $patterns --time 1h \
        > "$out/run" 2> "$out/run.err" &
    run=$!
    for turn in $(seq 100); do
        sleep 0.3
        kill -0 $run || break
        sums > "$out/during"
        cmp -s "$out/before" "$out/during" || return 0
    done
    echo "no pattern was written" >&2
    return 1
}

# A run is killed while it writes patterns; then every run is refused until `restore`. $wake is what else happens
# meanwhile, $stop ends what came of that.
killed() {
    write_patterns || return 1
    kill -KILL $run
    wait $run
    sleep 1
    udevadm settle
    ls "/sys/class/block/$(basename "$(readlink -f "$target")")/holders" > "$out/holders"
    $wake
    drivescope run "$target" --json --quiet --no-save --test latency > "$out/again" 2> "$out/again.err"
    echo $? > "$out/code"
    $stop
    drivescope restore > "$out/restore" 2>&1
    echo $? > "$out/restore.code"
    sums > "$out/after"
}

# The drive $mapped fails from some moment on; when it works again, `restore` brings its contents back.
failing() {
    write_patterns || return 1
    dmsetup suspend --noflush "$mapped" && dmsetup load "$mapped" --table "$broken" && dmsetup resume "$mapped"
    wait $run
    echo $? > "$out/code"
    drivescope restore > "$out/restore.failing" 2>&1
    echo $? > "$out/failing.code"
    dmsetup suspend --noflush "$mapped" && dmsetup load "$mapped" --table "$sound" && dmsetup resume "$mapped"
    drivescope restore > "$out/restore" 2>&1
    echo $? > "$out/restore.code"
    sums > "$out/after"
}

# What `align` says of the target.
align() {
    sums > "$out/before"
    drivescope run "$target" --json --quiet --no-save --write same-bytes --test align --set align.time=1s \
        --rounds 1 > "$out/run" 2> "$out/run.err"
    echo $? > "$out/code"
    sums > "$out/after"
}

# The drive's health by smartctl and by drivescope, and a check of it, after which smartctl is asked again.
health() {
    sums > "$out/before"
    smartctl --json --all "$target" > "$out/smartctl"
    drivescope list --json > "$out/list" 2> "$out/run.err"
    drivescope check "$target" --json --quiet --no-save --set self-test.wait=2min > "$out/run" 2>> "$out/run.err"
    echo $? > "$out/code"
    smartctl --json --all "$target" > "$out/smartctl.after"
    sums > "$out/after"
}

# The same reads by drivescope and by fio, interleaved.
pairs() {
    for turn in 1 2 3; do
        drivescope run "$target" --json --quiet --no-save --engine threads --test latency --rounds 1 \
            --set latency.spans_pct=[100] --set latency.rates=[] --time 2s > "$out/ours.$turn" 2>> "$out/run.err"
        fio --name=lab --filename="$target" --readonly --rw=randread --bs=4k --direct=1 --ioengine=psync \
            --runtime=2 --time_based --output-format=json > "$out/fio.$turn" 2>> "$out/run.err"
    done
}

# Sets $target to the disk that scsi_debug makes of these options.
debug_disk() {
    modprobe scsi_debug dev_size_mb=32 "$@"
    udevadm settle
    target=/dev/$(ls -d /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block/* | head -n 1 \
        | xargs basename)
}

# How many sectors of 512 bytes a device has.
sectors() { blockdev --getsz "$1"; }

# A mapping of one target over all of a device, such as `mapped_over flat linear $a`.
mapped_over() { dmsetup create "$1" --table "0 $(sectors "$3") $2 $3 0 $4"; }
