# Takes down whatever a case has built, so that the next one finds blank drives. What is not there is not asked
# for: each program takes a while in an emulated machine.
. /lab/kit.sh
mapped() { [ -n "$(ls /dev/mapper | grep -v '^control$')" ]; }
if mapped; then
    for table in $(dmsetup ls --noheadings | cut -f1); do dmsetup resume "$table"; done
fi
umount /mnt/* /mnt "$config"/*/* 2>/dev/null
rm -f /root/named /root/renamed
[ "$(wc -l < /proc/swaps)" -gt 1 ] && swapoff -a
mount -t configfs configfs /sys/kernel/config 2>/dev/null
for enable in "$config"/nvmet/subsystems/*/namespaces/*/enable; do
    [ -e "$enable" ] && echo 0 > "$enable"
done
for udc in "$config"/usb_gadget/*/UDC; do [ -e "$udc" ] && echo > "$udc"; done
rmdir "$config"/nvmet/subsystems/*/namespaces/* "$config"/nvmet/subsystems/* \
    "$config"/target/core/*/lab "$config"/target/core/*_0 2>/dev/null
rm -f "$config"/usb_gadget/lab/configs/*/mass_storage.* 2>/dev/null
rmdir "$config"/usb_gadget/lab/configs/* "$config"/usb_gadget/lab/functions/* \
    "$config"/usb_gadget/lab "$config"/nullb/* 2>/dev/null
if mapped; then
    vgchange --quiet -an
    multipath -F
fi
for stop in /sys/block/bcache*/bcache/stop /sys/fs/bcache/*/stop; do
    [ -e "$stop" ] && echo 1 > "$stop" && sleep 0.5
done
grep -q '^md' /proc/mdstat && mdadm --stop --scan
mapped && dmsetup remove_all --force
losetup -D
[ -e /sys/block/zram0/reset ] && echo 1 > /sys/block/zram0/reset
for module in scsi_debug null_blk; do [ -d /sys/module/$module ] && modprobe -qr $module; done
udevadm settle --timeout=20
for drive in "$a" "$b" "$c"; do
    blockdev --setrw "$drive"
    [ -d /root/.local/state/drivescope ] && drivescope restore --journal "$drive"
    # Cases leave signatures, for which it asks since util-linux 2.38.
    blkdiscard --force --zeroout "$drive"
done
rm -rf /root/.local/state/drivescope
udevadm settle --timeout=20
