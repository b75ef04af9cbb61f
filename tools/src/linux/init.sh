#!/bin/sh
# The first process of the guest: runs the command or a shell, and says on the console where its output begins
# and how it ended. The lines that begin with a record separator are for the host and are not shown.
export PATH=/bin:/sbin:/usr/bin:/usr/sbin HOME=/root TERM=dumb
if [ ! -e /bin/mount ] && [ -x /bin/busybox ]; then
    /bin/busybox --install -s /bin 2>/dev/null
fi
mkdir -p /proc /sys /dev /tmp /root /mnt
mount -t proc proc /proc 2>/dev/null
mount -t sysfs sysfs /sys 2>/dev/null
mount -t devtmpfs devtmpfs /dev 2>/dev/null
# Drivers for the devices of the host, and the network card's address in the network of QEMU.
for module in /millimeter/modules/*.ko*; do
    [ -e "$module" ] || continue
    case $module in
    *.xz)
        unxz "$module"
        module=${module%.xz}
        ;;
    esac
    insmod "$module" || echo "the module $module cannot be loaded"
done
. /millimeter/disks.sh
if [ -e /millimeter/network ]; then
    ip link set lo up
    ip addr add 10.0.2.15/24 dev eth0 && ip link set eth0 up && ip route add default via 10.0.2.2
    echo nameserver 10.0.2.3 >/etc/resolv.conf
fi
# What the host believes has a sign that the command does not know.
read -r sign </millimeter/nonce
rm -f /millimeter/nonce
say() {
    printf '\036millimeter: %s %s\n' "$sign" "$*"
}
cd /root || exit
if [ -e /millimeter/shell ]; then
    # A terminal for a person: perf uses no full-screen views on it, and the kernel shows only its errors.
    printf '[tui]\nreport = off\nannotate = off\ntop = off\n' >.perfconfig
    [ -e /millimeter/verbose ] || echo 4 >/proc/sys/kernel/printk
    tty=$(cat /sys/class/tty/console/active)
    say command
    ENV=/millimeter/command TERM=linux setsid /bin/sh -c "exec /bin/sh -i <'/dev/${tty##* }' >'/dev/${tty##* }' 2>&1"
    say exit "$?"
    poweroff -f
fi
# Bytes arrive as they are written, and messages of the kernel do not come between them.
stty -onlcr 2>/dev/null
[ -e /millimeter/verbose ] || echo 1 >/proc/sys/kernel/printk
if [ -e /millimeter/profile.sh ]; then
    . /millimeter/profile.sh
    profile_begin
fi
say command
# The host may have kept this system, started, until it knew the command.
if [ -e /millimeter/order ]; then
    (cd / && cpio -idu </millimeter/order 2>/dev/null)
    rm -f /millimeter/order
    # The clock has stood still since then.
    if [ -e /millimeter/date ]; then
        read -r now </millimeter/date
        date -s "@$now" >/dev/null
        rm -f /millimeter/date
    fi
fi
# The output is not a terminal, as for a program whose output is kept. The code comes by a descriptor that the command
# does not have.
exec 4>&1
code=$({
    {
        /bin/sh /millimeter/command </dev/null 2>&1 3>&- 4>&-
        echo $? >&3
    } | cat >&4
} 3>&1)
if [ -s /millimeter/counts ]; then
    read -r user all </millimeter/counts
    say counted "$user" "$all"
fi
say exit "$code"
[ ! -e /millimeter/profile.sh ] || profile_end
poweroff -f
