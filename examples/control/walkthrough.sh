#!/bin/sh
# A run under control: approve, deny, answer, plan, steer, continue. Needs no key and no daemon: it starts one of its
# own on a free port, with scripted answers instead of a model, and removes everything again.
#
#   sh examples/control/walkthrough.sh
#
# Its input is no terminal here, so runs that need a person end with exit code 3 and stay alive, and the answers come
# from commands of their own. In a terminal "runwright run" asks you instead.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
[ -f "$root/dist/kernel/main.js" ] || (cd "$root" && npm run build)
place=$(mktemp -d)
mkdir "$place/workspace"
: > "$place/log"
runwright() { node "$root/dist/kernel/main.js" "$@" < /dev/null; }
say() { printf '\n# %s\n' "$1"; }
show() { printf '$ %s\n' "$*"; "$@"; }

# ---- a daemon of our own
(cd "$place/workspace" && SVC_ADDR=127.0.0.1:0 SVC_PROVIDER=fake SVC_FAKE_TURNS="$here/turns.json" \
  SVC_WORKSPACE="$place/workspace" SVC_STATE_DIR="$place/state" SVC_GLOBAL_DIR="$place/global" \
  SVC_RUN_DB="$place/runs.db" SVC_AUTH_DISABLED=true SVC_WATCH_ENABLED=false \
  exec node "$root/dist/kernel/main.js" serve < /dev/null > "$place/log" 2>&1) &
daemon=$!
finish() {
  kill "$daemon" 2> /dev/null && wait "$daemon" || true
  rm -rf "$place"
}
trap finish EXIT
trap 'exit 130' INT TERM
tries=0
until SVC_URL=$(grep -o 'http://127\.0\.0\.1:[0-9]*' "$place/log" | head -n 1) && [ -n "$SVC_URL" ]; do
  tries=$((tries + 1))
  if [ "$tries" -gt 300 ] || ! kill -0 "$daemon" 2> /dev/null; then
    cat "$place/log" >&2
    exit 1
  fi
  sleep 0.1
done
export SVC_URL
echo "A daemon listens on $SVC_URL."

# Starts a run that will wait for somebody: exit code 3 is what we want to see. Sets $run.
start() {
  code=0
  show runwright run "$@" > "$place/out" 2>&1 || code=$?
  cat "$place/out"
  echo "(exit code $code)"
  [ "$code" -eq 3 ]
  run=$(grep -o 'run_[0-9a-f-]*' "$place/out" | head -n 1)
}

say 'Approve: calls that change something wait for a word. This one gets a yes, and runs.'
start 'Write a greeting.' --approval destructive
show runwright approve "$run"
show runwright attach "$run" --quiet
show cat "$place/workspace/hello.txt"

say 'Deny: this one gets a no, with the reason. Nothing is changed, and the run goes on without it.'
start 'Make it longer.' --approval destructive
show runwright deny "$run" --message 'It is fine as it is.'
show runwright attach "$run" --quiet
show cat "$place/workspace/hello.txt"

say 'Question: the agent asks, you answer.'
start 'Paint it.'
show runwright answer "$run" 'Which colour?=Blue'
show runwright attach "$run" --quiet

say 'Plan: nothing can be changed until you pick an approach; then the same run carries it out.'
start 'Say goodbye, too.' --plan
show runwright approve "$run" --option a
show runwright attach "$run" --quiet
show cat "$place/workspace/bye.txt"

say 'Steer: a word to a run while it works; it hears it before its next step.'
run=$(runwright run 'Describe what is here, at length.' --no-stream)
show runwright steer "$run" 'One sentence will do.'
show runwright attach "$run"
show runwright todos "$run"

say 'Continue: a new run in the same conversation.'
show runwright continue "$run" 'And in German?'
say 'That was all of it. The daemon stops, and everything it made is removed.'
