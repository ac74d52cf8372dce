#!/bin/sh
# Runs before every npm script on whatever Node the machine has: brings node_modules (and with it
# the Node the project runs on) in line with the lock file. Silent when there is nothing to do.
set -eu
cd "$(dirname "$0")/../.."
stamp=node_modules/.package-lock.json
is_current() { [ -e "$stamp" ] && ! [ package-lock.json -nt "$stamp" ]; }
if ! is_current; then
  # Of two first commands the second waits, and finds it done.
  exec 9< package-lock.json
  if command -v flock > /dev/null; then flock 9; fi
  if ! is_current; then
    echo "installing npm packages (about 300 MB the first time, a minute or less)" >&2
    # Whatever a package has to be built by is in it, or in one for the platform: none may run what it likes here.
    npm ci --ignore-scripts --no-fund --no-audit --loglevel=error >&2
    touch "$stamp"
  fi
  exec 9<&-
fi
major=$(PATH="$PWD/node_modules/.bin:$PATH" node -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 24 ]; then
  echo "node $major is too old and no packaged Node exists for this platform: install Node 24 or later" >&2
  exit 1
fi
