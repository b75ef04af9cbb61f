# Several CPUs make the disks ready side by side, so that their letters may be in any order. This gives them again, in
# the order of the device numbers, which is that of the host's options.
letters() {
    for disk in /sys/bus/ccw/devices/*/virtio*/block/*; do
        [ ! -e "$disk" ] || echo "${disk##*/}"
    done
}
if [ "$(letters)" != "$(letters | sort)" ]; then
    disks=
    for block in /sys/bus/ccw/devices/*/virtio*/block; do
        device=${block%/block}
        disks="$disks ${device##*/}"
    done
    for order in unbind bind; do
        for device in $disks; do
            echo "$device" >/sys/bus/virtio/drivers/virtio_blk/$order
        done
    done
fi
