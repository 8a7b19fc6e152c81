#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# First process of the guest: loads what the shared root needs, puts a writable layer over it, and goes
# on with guest.sh there.
/bin/busybox --install -s /bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
while read -r module; do
    insmod "$module" 2>/dev/null # one that is built in is no error
done </modules
mkdir -p /ro /rw /root
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose hostroot /ro
mount -t tmpfs none /rw
mkdir -p /rw/up /rw/work
mount -t overlay -o lowerdir=/ro,upperdir=/rw/up,workdir=/rw/work none /root
for each in proc sys dev; do
    mkdir -p "/root/$each"
    mount --move "/$each" "/root/$each"
done
mkdir -p /root/run /root/mnt/out
mount -t tmpfs none /root/run
mount -t tmpfs none /root/dev/shm 2>/dev/null || { mkdir -p /root/dev/shm; mount -t tmpfs none /root/dev/shm; }
mount -t 9p -o trans=virtio,version=9p2000.L,rw,msize=512000 out /root/mnt/out
exec switch_root /root /bin/sh /mnt/out/guest.sh
