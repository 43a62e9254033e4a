#!/usr/bin/env bash
# Hands in a report and waits for it. Needs a server (`handoff serve`) and a worker (worker.sh, or one in another language).
#
#   clients/curl/producer.sh 11
set -euo pipefail

url=${HANDOFF_URL:-http://127.0.0.1:8077}
month=${1:-11}

id=$(cat /proc/sys/kernel/random/uuid) # Ours, so that asking again after a lost answer makes no second task.
curl -sS --fail-with-body --retry 5 --retry-all-errors "$url/v1/tasks" -H 'Content-Type: application/json' \
  -d "{\"id\": \"$id\", \"queue\": \"report\", \"kind\": \"monthly\", \"payload\": {\"month\": $month}}"

task=$(curl -sS --fail-with-body --retry 5 --retry-all-errors "$url/v1/tasks/$id?wait=5m")
echo "done: $(sed -E 's/.*"result":\{"file":"([^"]*)"\}.*/\1/' <<<"$task")"
