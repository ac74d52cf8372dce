#!/bin/sh
# Holds a pipe from its owner and learns the owner's children, one line each: "<rank> <pid> <start time>".
# When the pipe closes (the owner ended in whatever way, SIGKILL included) it ends those that are left:
# services first, then the parts they use, then anything that carries the owner's mark.
# A shell, because it only waits for as long as the owner lives, and needs no more than 1 MB.
trap '' HUP INT TERM
owner=$1
services=
parts=
while read -r rank pid start; do
  case $rank in
    service) services="$services $pid:$start" ;;
    part) parts="$parts $pid:$start" ;;
  esac
done

# The fields after the command name; the start time (field 22 of proc(5)) is the 20th of them.
alive() {
  stat=$(cat "/proc/${1%%:*}/stat" 2>/dev/null) || return 1
  want=${1##*:}
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  [ "$1" != Z ] && [ "${20}" = "$want" ]
}

any_alive() {
  for child in "$@"; do alive "$child" && return 0; done
  return 1
}

end() {
  for child in "$@"; do alive "$child" && kill -s TERM "${child%%:*}" 2>/dev/null; done
  tenths=0
  while [ $tenths -lt 50 ] && any_alive "$@"; do
    sleep 0.1
    tenths=$((tenths + 1))
  done
  for child in "$@"; do
    # Children lead their own process group; the group takes what they started with them.
    alive "$child" && { kill -s KILL -- "-${child%%:*}" 2>/dev/null || kill -s KILL "${child%%:*}" 2>/dev/null; }
  done
}

# shellcheck disable=SC2086
end $services
# shellcheck disable=SC2086
end $parts
for file in $(grep -lzx "EVENT_INGEST_OWNER=$owner" /proc/[0-9]*/environ 2>/dev/null); do
  pid=${file#/proc/}
  kill -s KILL "${pid%/environ}" 2>/dev/null
done
exit 0
