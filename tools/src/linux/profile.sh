# What a profile from below needs to know of this guest; the first process writes it on the console. The shell alone
# does it, because an archive of the user's own may have no other tools.

# Before the command: where the kernel lies. From now on the kernel notes what processes become.
profile_begin() {
    while read -r address _ name _; do
        if [ "$name" = _stext ]; then
            say kernel "$address"
            break
        fi
    done </proc/kallsyms
    tracing=/sys/kernel/tracing
    mount -t tracefs tracefs $tracing 2>/dev/null
    echo 1024 >$tracing/buffer_size_kb
    echo 1 >$tracing/events/sched/sched_process_fork/enable
    echo 1 >$tracing/events/sched/sched_process_exec/enable
    # For call stacks: which files processes map. The shell has mapped its own already.
    if [ -e /millimeter/mappings ]; then
        while read -r range access offset _ _ path; do
            case $access in
            *x*) say mapped map $$ "${range%-*}" "${range#*-}" "$offset" "$path" ;;
            esac
        done </proc/$$/maps
        /millimeter/mappings /millimeter/mapped &
        mapper=$!
        until [ -e /millimeter/mapped ] || ! kill -0 $mapper; do
            :
        done
    fi
} 2>/dev/null

# Behind the command: processes and modules by name.
profile_end() {
    echo 0 >$tracing/tracing_on
    for process in /proc/[0-9]*; do
        read -r name <"$process/comm" && say process "${process#/proc/}" "$name"
    done
    while read -r line; do
        case $line in
        *': sched_process_fork: '*' child_comm='*' child_pid='*)
            name=${line##* child_comm=}
            name=${name% child_pid=*}
            ;;
        *': sched_process_exec: filename='*' pid='*' old_pid='*)
            name=${line#*: sched_process_exec: filename=}
            name=${name% pid=*}
            name=${name##*/}
            line=${line% old_pid=*}
            line="child_pid=${line##* pid=}"
            ;;
        *) continue ;;
        esac
        say process "${line##*child_pid=}" "$name"
    done <$tracing/trace
    if [ -n "$mapper" ]; then
        kill $mapper
        wait $mapper
        while read -r line; do
            say mapped "$line"
        done </millimeter/mapped
    fi
    while read -r name bytes _ _ _ address _; do
        say module "$name" "$bytes" "$address"
    done </proc/modules
} 2>/dev/null
