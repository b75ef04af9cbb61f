# Work that is timed and counted: the parts that the arguments name, with a line before each.

# Output is held back on its way as long as there is other work, so there is none for a moment.
mark() {
    echo "@$1"
    sleep 1
}

for part; do
    mark "$part"
    i=0
    case $part in
    loop) while [ $i -lt 100000 ]; do i=$((i + 1)); done ;;
    # By its path it is a program to the shell, and no command of its own.
    fork) while [ $i -lt 500 ]; do /bin/busybox true && i=$((i + 1)); done ;;
    calls) dd if=/dev/zero of=/dev/null bs=4k count=100000 2>/dev/null ;;
    esac
done
mark end
