#!/usr/bin/env bash
# Makes reports until it is told to end by SIGTERM. Needs a server: `handoff serve`.
#
#   clients/curl/worker.sh
set -euo pipefail

url=${HANDOFF_URL:-http://127.0.0.1:8077}
done=0

post() { curl -sS --fail-with-body --retry 5 --retry-all-errors "$url/$1" -H 'Content-Type: application/json' -d "$2"; }
field() { sed -E "s/.*\"$1\":\"?([^\",}]*).*/\1/"; }

# SIGTERM: the task in hand is finished, and no other is claimed. The claim that waits is not cut off, since its answer may hold a task: so it is short.
trap 'is_over=yes' TERM
while [[ ! ${is_over:-} ]]; do
  claimed=$(post v1/claim '{"queues": ["report"], "wait": "2s", "lease_for": "30s"}') || continue
  [[ $claimed ]] || continue # 204: there was nothing.
  id=$(field id <<<"$claimed") lease=$(field lease <<<"$claimed") month=$(field month <<<"$claimed")

  for day in 10 20 30; do # Each extends the lease; 409 says that the task is not ours any more.
    post "v1/tasks/$id/extend" "{\"lease\": \"$lease\", \"progress\": {\"fraction\": $((day / 10)).0e-1, \"note\": \"day $day\"}}" >/dev/null || continue 2
  done
  post "v1/tasks/$id/done" "{\"lease\": \"$lease\", \"result\": {\"file\": \"2026-$month.pdf\"}}" >/dev/null && ((++done))
done
echo "done $done, given back 0"
