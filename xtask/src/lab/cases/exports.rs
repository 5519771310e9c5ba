//! Exports of the kernel to other machines: some take no claim, and show through configfs only.

use super::Case;
use super::Expect::{Free, Refused};

pub const CASES: &[Case] = &[
    Case::short(
        "lio-block",
        Refused("claim"),
        "modprobe target_core_iblock; d=$config/target/core/iblock_0/lab; mkdir -p $d; echo udev_path=$a > $d/control; echo 1 > $d/enable; target=$a",
    ),
    Case::short(
        "lio-file",
        Refused("holders"),
        "modprobe target_core_file; d=$config/target/core/fileio_0/lab; mkdir -p $d; echo fd_dev_name=$a,fd_dev_size=33554432 > $d/control; echo 1 > $d/enable; target=$a",
    ),
    Case::short(
        "lio-file-unseen",
        Refused("holders"),
        "modprobe target_core_file; d=$config/target/core/fileio_0/lab; mkdir -p $d; echo fd_dev_name=$a,fd_dev_size=33554432 > $d/control; echo 1 > $d/enable; umount $config; target=$a",
    ),
    Case::short(
        "nvmet",
        Refused("holders"),
        "modprobe nvmet; d=$config/nvmet/subsystems/lab/namespaces/1; mkdir $config/nvmet/subsystems/lab; mkdir $d; echo -n $a > $d/device_path; echo 1 > $d/enable; target=$a",
    ),
    Case::short(
        "nvmet-unseen",
        Refused("holders"),
        "modprobe nvmet; d=$config/nvmet/subsystems/lab/namespaces/1; mkdir $config/nvmet/subsystems/lab; mkdir $d; echo -n $a > $d/device_path; echo 1 > $d/enable; umount $config; target=$a",
    ),
    Case::long(
        "lio-file-gone",
        Refused("holders"),
        "modprobe target_core_file; mknod /tmp/gone b $((0x$(stat -Lc %t $a))) $((0x$(stat -Lc %T $a))); d=$config/target/core/fileio_0/lab; mkdir -p $d; echo fd_dev_name=/tmp/gone,fd_dev_size=33554432 > $d/control; echo 1 > $d/enable; rm /tmp/gone; target=$a",
    ),
    Case::short(
        "lio-file-elsewhere",
        Refused("holders"),
        "modprobe target_core_file; ln -sfn $a /tmp/away; d=$config/target/core/fileio_0/lab; mkdir -p $d; echo fd_dev_name=/tmp/away,fd_dev_size=33554432 > $d/control; echo 1 > $d/enable; ln -sfn $b /tmp/away; target=$a",
    ),
    Case::long(
        "lio-file-relative",
        Refused("holders"),
        "modprobe target_core_file; d=$config/target/core/fileio_0/lab; mkdir -p $d; (cd /dev; echo fd_dev_name=${a#/dev/},fd_dev_size=33554432 > $d/control; echo 1 > $d/enable); target=$a",
    ),
    Case::long(
        "lio-file-renamed",
        Refused("holders"),
        "modprobe target_core_file; truncate -s 32M /root/named; d=$config/target/core/fileio_0/lab; mkdir -p $d; echo fd_dev_name=/root/named,fd_dev_size=33554432 > $d/control; echo 1 > $d/enable; mv /root/named /root/renamed; truncate -s 32M /root/named; target=$(losetup --find --show /root/renamed)",
    ),
    Case::long(
        "lio-file-of-another",
        Free,
        "modprobe target_core_file; d=$config/target/core/fileio_0/lab; mkdir -p $d; echo fd_dev_name=$b,fd_dev_size=33554432 > $d/control; echo 1 > $d/enable; target=$a",
    ),
    Case::short(
        "nvmet-elsewhere",
        Refused("holders"),
        "modprobe nvmet; ln -sfn $a /tmp/away; d=$config/nvmet/subsystems/lab/namespaces/1; mkdir $config/nvmet/subsystems/lab; mkdir $d; echo -n /tmp/away > $d/device_path; echo 1 > $d/enable; ln -sfn $b /tmp/away; target=$a",
    ),
    Case::long(
        "nvmet-gone",
        Refused("holders"),
        "modprobe nvmet; ln -sfn $a /tmp/away; d=$config/nvmet/subsystems/lab/namespaces/1; mkdir $config/nvmet/subsystems/lab; mkdir $d; echo -n /tmp/away > $d/device_path; echo 1 > $d/enable; rm /tmp/away; target=$a",
    ),
    Case::short(
        "nvmet-below-a-folder",
        Refused("holders"),
        "modprobe nvmet; d=$config/nvmet/subsystems/lab/namespaces/1; mkdir $config/nvmet/subsystems/lab; mkdir $d; echo -n $a > $d/device_path; echo 1 > $d/enable; mkdir -p /tmp/empty; mount --bind /tmp/empty $config/nvmet/subsystems; target=$a",
    ),
    Case::short(
        "usb-gadget",
        Refused("holders"),
        "modprobe dummy_hcd; modprobe usb_f_mass_storage; d=$config/usb_gadget/lab; mkdir $d; mkdir $d/configs/c.1 $d/functions/mass_storage.0; echo $a > $d/functions/mass_storage.0/lun.0/file; ln -s $d/functions/mass_storage.0 $d/configs/c.1; ls /sys/class/udc > $d/UDC; sleep 3; target=$a",
    ),
    Case::long(
        "usb-gadget-unseen",
        Refused("holders"),
        "modprobe dummy_hcd; modprobe usb_f_mass_storage; d=$config/usb_gadget/lab; mkdir $d; mkdir $d/configs/c.1 $d/functions/mass_storage.0; echo $a > $d/functions/mass_storage.0/lun.0/file; ln -s $d/functions/mass_storage.0 $d/configs/c.1; ls /sys/class/udc > $d/UDC; sleep 3; umount $config; target=$a",
    ),
];
