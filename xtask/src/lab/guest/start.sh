#!/bin/sh
# The guest's first process: gives every case a turn, then switches the machine off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C
# What udev leaves to systemd: nodes of modules that are not loaded yet.
modprobe -a configfs loop dm-mod
mount -t configfs configfs /sys/kernel/config 2>/dev/null
/lib/systemd/systemd-udevd --daemon
udevadm trigger --action=add
udevadm settle
cp /lab/drivescope /usr/bin/drivescope
for case in /lab/cases/*; do
    export out="/lab/out/$(basename "$case" .sh)"
    mkdir -p "$out"
    timeout --kill-after=5 "${CASE_SECONDS:-300}" sh -x "$case" > "$out/log" 2>&1
    echo $? > "$out/end.new"
    mv "$out/end.new" "$out/end"
    sh /lab/tidy.sh > "$out/tidy.log" 2>&1
done
sync
echo o > /proc/sysrq-trigger
sleep 60
