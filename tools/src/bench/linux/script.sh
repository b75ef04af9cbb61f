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
    esac
done
mark end
