/**
 * The spawner's whole program. The first line names its control group, or is empty. A line `new N` makes the named pipes of slot N; a line `run N in out err filter` starts
 * the NUL-separated command line found in `N.argv`, its launcher's options on descriptor 7, the filter on 9. Each is answered on descriptor 3; `up N pid` says that the pipes of
 * N are open. When the daemon is gone, which shows as the end of input, everything started here is killed with it: each
 * launcher is stopped first, so that it cannot make the child that would outlive it, then the child, then the launcher.
 */
export const SPAWNER_SCRIPT = `
own=$PWD
for open in /proc/self/fd/*; do
  open=\${open##*/}
  [ "$open" -gt 3 ] && eval "exec $open>&-"
done 2>/dev/null
# Words to a daemon that is gone must not end this before it has cleaned up. A handler, unlike '', is not inherited.
trap : PIPE
ulimit -S -c 0
[ "$2" = 0 ] || ulimit -S -H -u "$2" 2>/dev/null
[ "$3" = 0 ] || ulimit -S -H -d "$3" 2>/dev/null
IFS= read -r group
while IFS=' ' read -r word slot in out err filter; do
  if [ "$word" = new ]; then
    mkfifo -m 600 "$slot.out" "$slot.err" "$slot.status" && printf 'new %s 0\\n' "$slot" >&3
    continue
  fi
  {
    printf 'up %s %s\\n' "$slot" "$BASHPID" >&3
    mapfile -d '' -t argv <"$slot.argv"
    [ "$filter" = none ] && exec 9<&-
    exec "\${argv[@]}" 3>&-
  } <"$in" >"$out" 2>"$err" 7<"$slot.options" 8>"$slot.status" 9<"$filter.filter" &
done
exec 3>&-
for pid in $(jobs -p); do
  kill -STOP "$pid"
  read -r children <"/proc/$pid/task/$pid/children"
  kill -KILL $children "$pid"
done
cd /
rm -rf -- "$own" "$1"
[ -n "$group" ] && echo $$ >"$group/../cgroup.procs" && rmdir "$group"
kill -KILL 0
`
