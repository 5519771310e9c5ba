# Takes down whatever a case has built, so that the next one finds blank drives.
. /lab/kit.sh
for table in $(dmsetup ls --noheadings 2>/dev/null | cut -f1); do
    dmsetup resume "$table" 2>/dev/null
done
umount /mnt/* /mnt 2>/dev/null
swapoff -a
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
vgchange --quiet -an
multipath -F
for stop in /sys/block/bcache*/bcache/stop /sys/fs/bcache/*/stop; do
    [ -e "$stop" ] && echo 1 > "$stop"
done
sleep 0.5
mdadm --stop --scan
dmsetup remove_all --force
losetup -D
echo 1 > /sys/block/zram0/reset
modprobe -qr scsi_debug
modprobe -qr null_blk
udevadm settle --timeout=20
for drive in "$a" "$b" "$c"; do
    blockdev --setrw "$drive"
    drivescope restore --journal "$drive" >/dev/null 2>&1
    dd if=/dev/zero of="$drive" bs=1M conv=notrunc oflag=direct 2>/dev/null
done
rm -rf /root/.local/state/drivescope
udevadm settle --timeout=20
