#!/bin/sh
# The HTTP interface with curl, from a first run to a resumed stream. Start a daemon first, in another terminal:
#
#   SVC_PROVIDER=fake SVC_FAKE_TURNS=examples/fake-turns/demo.json SVC_RUN_DB=/tmp/walkthrough.db SVC_AUTH_DISABLED=true npm start
#
# then: sh examples/walkthrough.sh   (or paste the commands one by one). With auth on, add to every curl:
#   -H "Authorization: Bearer $SVC_TOKEN"
set -eu
base=${SVC_URL:-http://127.0.0.1:8080}
workspace=$(mktemp -d)
trap 'rm -rf "$workspace"' EXIT
say() { printf '\n# %s\n' "$1"; }

say 'Is it there?'
curl -sS --fail-with-body "$base/healthz"

say 'Start a run. The answer comes at once; the work goes on behind it.'
curl -sS --fail-with-body "$base/v1/runs" -H 'Content-Type: application/json' -H "Idempotency-Key: walkthrough-$$" \
  -d "{\"prompt\":\"Write a greeting script and run it.\",\"allow_fallback\":true,\"workspace_path\":\"$workspace\"}" \
  | tee "$workspace/.started"
run=$(sed 's/.*"run_id":"\([^"]*\)".*/\1/' "$workspace/.started")

say 'Asking again with the same Idempotency-Key starts nothing: the same run is named.'
curl -sS --fail-with-body "$base/v1/runs" -H 'Content-Type: application/json' -H "Idempotency-Key: walkthrough-$$" \
  -d "{\"prompt\":\"Write a greeting script and run it.\",\"allow_fallback\":true,\"workspace_path\":\"$workspace\"}"

say 'Watch it to its end: one frame per event.'
curl -sS --fail-with-body -N "$base/v1/runs/$run/events" | grep -E '^event: (run|tool|llm|assistant\.message$)' || true

say 'The stream again, as if the connection had broken after event 3: it goes on with event 4.'
curl -sS --fail-with-body -N "$base/v1/runs/$run/events" -H "Last-Event-ID: $run:3" | grep '^id:' | head -n 2

say 'The run, and what it amounted to.'
curl -sS --fail-with-body "$base/v1/runs/$run"
echo
curl -sS --fail-with-body "$base/v1/runs/$run/summary"

say 'Go on in the same conversation: name it.'
curl -sS --fail-with-body "$base/v1/runs" -H 'Content-Type: application/json' \
  -d "{\"prompt\":\"Thanks.\",\"allow_fallback\":true,\"conversation_id\":\"$run\"}" | tee "$workspace/.second"
second=$(sed 's/.*"run_id":"\([^"]*\)".*/\1/' "$workspace/.second")

say 'Cancel it. Asking twice is harmless.'
curl -sS --fail-with-body -X POST "$base/v1/runs/$second/cancel"
echo
curl -sS --fail-with-body -X POST "$base/v1/runs/$second/cancel"

say 'A mistake is answered with a code and a sentence.'
curl -sS "$base/v1/runs" -H 'Content-Type: application/json' -d '{"prompt":"x","max_steps":-1}'
echo
