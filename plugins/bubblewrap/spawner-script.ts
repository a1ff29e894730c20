/**
 * The spawner's whole program, and that of the shell each private network has, which `$0` tells apart. Of the spawner,
 * the first line names its control group, or is empty. Then come lines; each is answered on descriptor 3:
 *   `make N a b c d`          makes the named pipes N.a to N.d; `d` may be missing
 *   `run N in out err filter` starts the NUL-separated command line found in `N.argv`, its launcher's options on
 *                             descriptor 7, the filter on 9; `run N pid` says that the pipes of N are open. With one
 *                             more word, `held`, it gets the file `mounted` on 5 and the pipe `N.go` on 4
 *   `echo N`                  is answered, after what was said before
 *   `net N`                   opens network N with the programs found in `N.tools`; `net N pid` says that its shell takes
 *                             lines from `N.control`, `net N 0` that it could not be had
 * When the daemon is gone, which shows as the end of input, everything started here is killed with it: each launcher is
 * stopped first, so that it cannot make the child that would outlive it, then the child, then the launcher. The program
 * that carries a network's connections ends when the network's shell does, the writer of `N.life`. Whoever may still
 * start a command holds descriptor 3 and, in a network, `N.life`; a started one holds neither.
 *
 * Root owns the machine's devices and could change their modes through every view, so for root they are mounted
 * read-only here, in a mount namespace that follows the machine's: what is written to a device does not mind. When
 * memory runs out, what is started here ends before anything else of the machine, the daemon first of all.
 */
export const SPAWNER_SCRIPT = `
serve() {
  while IFS=' ' read -r word slot in out err filter held; do
    case $word in
    make)
      mkfifo -m 600 "$slot.$in" "$slot.$out" "$slot.$err" \${filter:+"$slot.$filter"} && printf 'make %s 0\\n' "$slot" >&3
      ;;
    echo)
      printf 'echo %s 0\\n' "$slot" >&3
      ;;
    net)
      network "$slot" </dev/null >/dev/null &
      disown $!
      ;;
    run)
      {
        printf 'run %s %s\\n' "$slot" "$BASHPID" >&3
        mapfile -d '' -t argv <"$slot.argv"
        [ "$filter" = none ] && exec 9<&-
        [ -n "$held" ] && exec 4<>"$slot.go" 5<mounted
        exec "\${argv[@]}" 3>&- 6>&-
      } <"$in" >"$out" 2>"$err" 7<"$slot.options" 8>"$slot.status" 9<"$filter.filter" &
      ;;
    esac
  done
  exec 3>&-
  for pid in $(jobs -p); do
    kill -STOP "$pid"
    read -r children <"/proc/$pid/task/$pid/children"
    kill -KILL $children "$pid"
  done
}

network() {
  mapfile -d '' -t tools <"$1.tools"
  # Opened for both ways first: to open one end alone waits for the other, and the daemon may be gone.
  exec 8<>"$1.life" 5<"$1.life" 8<>"$1.carrier" 4>"$1.carrier" 8>&- 7<>"$1.ready"
  exec 6< <(
    exec "\${tools[0]}" -U -r -n -- "$BASH" --norc --noprofile -c "$BASH_EXECUTION_STRING" network "$1" \\
      <"$1.control" 2>"$1.life" 4>&- 5<&- 7>&-
  )
  shell=$!
  if ! read -r _ <&6; then
    printf 'net %s 0\\n' "$1" >&3
    exit
  fi
  exec "\${tools[1]}" --configure --mtu=65520 --cidr="\${tools[3]}" --disable-host-loopback --enable-sandbox \\
    --enable-seccomp --exit-fd=5 --ready-fd=7 "$shell" tap0 2>&4 4>&- 3>&- 6<&-
}

# Words to a daemon that is gone must not end this before it has cleaned up. A handler, unlike '', is not inherited.
trap : PIPE

if [ "$0" = network ]; then
  # Open before the carrier is started, which says its word once and closes its end.
  exec 9<"$1.ready"
  echo
  exec >/dev/null
  # Standard error is each command's own.
  exec 6>&2
  mapfile -d '' -t tools <"$1.tools"
  if read -r -N 1 _ <&9 && exec 9<&- && "\${tools[2]}" -batch "$1.rules"; then
    printf 'net %s %s\\n' "$1" "$$" >&3
    serve
  else
    printf 'net %s 0\\n' "$1" >&3
  fi
  exit
fi

if [ "$0" = spawner ] && [ "$UID" = 0 ] && unshare --mount true; then
  exec unshare --mount --propagation slave "$BASH" --norc --noprofile -c "$BASH_EXECUTION_STRING" spawner-of-root "$@"
fi
if [ "$0" = spawner-of-root ]; then
  for device in null zero full random urandom tty; do
    mount -o bind,ro "/dev/$device" "/dev/$device" </dev/null >/dev/null
  done
fi
own=$PWD
for open in /proc/self/fd/*; do
  open=\${open##*/}
  [ "$open" -gt 3 ] && eval "exec $open>&-"
done 2>/dev/null
ulimit -S -c 0
read -r chance </proc/self/oom_score_adj && [ "$chance" -lt 1000 ] && echo 1000 >/proc/self/oom_score_adj
[ "$2" = 0 ] || ulimit -S -H -u "$2" 2>/dev/null
[ "$3" = 0 ] || ulimit -S -H -d "$3" 2>/dev/null
IFS= read -r group
serve
# The shells of the networks see the same end and do the same; the group goes only after them.
for life in *.life; do
  [ -p "$life" ] && exec 8<>"$life" 5<"$life" 8>&- && read -r -t 1 -d '' _ <&5
done
cd /
# Go's module cache, for one, is of directories that nobody may write.
rm -rf -- "$own" "$1" || { chmod -R u+rwx -- "$1"; rm -rf -- "$1"; }
[ -n "$group" ] && echo $$ >"$group/../cgroup.procs" && rmdir "$group"
kill -KILL 0
`
