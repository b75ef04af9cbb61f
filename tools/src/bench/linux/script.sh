# Work that is timed and counted: the parts that the arguments name, with a line before each.

# Output is held back while there is other work, so pause for a moment.
mark() {
    echo "@$1"
    sleep 1
}

for part; do
    mark "$part"
    i=0
    case $part in
    loop) while [ $i -lt 100000 ]; do i=$((i + 1)); done ;;
    # The path makes the shell run a program instead of its built-in command.
    fork) while [ $i -lt 500 ]; do /bin/busybox true && i=$((i + 1)); done ;;
    calls) dd if=/dev/zero of=/dev/null bs=4k count=100000 2>/dev/null ;;
    # A fresh buffer is stored into page by page.
    faults)
        while [ $i -lt 8 ]; do
            dd if=/dev/zero of=/dev/null bs=64M count=1 2>/dev/null
            i=$((i + 1))
        done
        ;;
    # Two shells send each other lines in turns.
    switches)
        mkfifo /tmp/there /tmp/back
        while read -r line; do echo "$line"; done </tmp/there >/tmp/back &
        exec 3>/tmp/there 4</tmp/back
        while [ $i -lt 10000 ]; do
            echo "$i" >&3
            read -r line <&4
            i=$((i + 1))
        done
        exec 3>&- 4<&-
        wait
        ;;
    # The whole disk, and runs of its blocks from places that look random.
    read)
        while [ $i -lt 32 ]; do
            dd if=/dev/vda of=/dev/null bs=1M iflag=direct 2>/dev/null
            i=$((i + 1))
        done
        ;;
    blocks)
        at=1
        while [ $i -lt 64 ]; do
            at=$(((at * 75 + 74) % 65537))
            dd if=/dev/vda of=/dev/null bs=4k count=64 skip=$((at % 65000)) iflag=direct 2>/dev/null
            i=$((i + 1))
        done
        ;;
    # The number of the port follows.
    receive*) nc 10.0.2.2 "${part#receive}" >/dev/null </dev/null ;;
    esac
done
mark end
