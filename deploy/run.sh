#!/bin/sh
# Runs one process of the service in the foreground: run.sh NAME. It takes the place of this shell, so that signals reach it.
# Made by `npm run docs:configuration` of what `npm start` runs.
set -eu
cd "$(dirname "$0")/.."
# Node 24 of the npm package, where that is installed; an image has its own.
PATH="$PWD/node_modules/.bin:$PATH"
name=${1:-}
case "$name" in
  alerts) set -- services/alerts/main.ts ;;
  control) set -- services/control/main.ts ;;
  dedup) set -- --max-semi-space-size=32 --external-memory-accounted-in-global-limit --heap-growing-percent=400 --single-threaded-gc services/dedup/main.ts ;;
  edge) set -- --max-semi-space-size=32 --initial-old-space-size=256 --single-threaded-gc services/edge/main.ts ;;
  erasure) set -- services/erasure/main.ts ;;
  identity) set -- --max-semi-space-size=32 --external-memory-accounted-in-global-limit --heap-growing-percent=400 --single-threaded-gc services/identity/main.ts ;;
  quota) set -- --max-semi-space-size=32 --external-memory-accounted-in-global-limit --heap-growing-percent=400 --single-threaded-gc services/quota/main.ts ;;
  replay) set -- services/redelivery/main.ts ;;
  warehouse) set -- --max-semi-space-size=32 --external-memory-accounted-in-global-limit --heap-growing-percent=400 --single-threaded-gc services/warehouse/main.ts ;;
  delivery) set -- services/delivery/main.ts ;;
  delivery-*)
    export DELIVERY_DESTINATION="${name#delivery-}"
    set -- services/delivery/main.ts
    ;;
  provision) set -- services/provision/main.ts ;;
  svc)
    shift
    set -- services/cli/main.ts "$@"
    ;;
  # Whether a process answers, and whether it does its work: while a part is away it is alive, but not ready.
  alive) set -- -e "fetch('http://127.0.0.1:$METRICS_PORT/metrics').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))" ;;
  ready) set -- -e "fetch('http://127.0.0.1:$METRICS_PORT/ready').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))" ;;
  *)
    echo "usage: run.sh alerts|control|dedup|edge|erasure|identity|quota|replay|warehouse|delivery-DESTINATION|provision|svc|alive|ready" >&2
    exit 2
    ;;
esac
exec node "$@"
