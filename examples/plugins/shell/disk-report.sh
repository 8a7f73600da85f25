#!/bin/sh
# Tells how full the file system of a directory is, and fails when it is fuller than it may be. A plugin of the simple
# contract: arguments come from the parameters of the task, what it prints is the output, its exit status the outcome.
#
# agent.yaml:
#   tasks:
#     plugins:
#       disk-report: { program: /opt/plugins/disk-report.sh, args: ["{path}", "{limit}"], timeout: 1m }
#
# Exit status: 0 done, 1 fuller than LIMIT per cent, 75 "run me again later": the directory is not there (yet).
set -eu

path=$1
limit=$2

# Progress goes to the third descriptor, which is there when Muster runs this; by hand it goes nowhere.
[ -n "${MUSTER_PROGRESS_FD:-}" ] || exec 3>/dev/null

if [ ! -d "$path" ]; then
  echo "$path is not there; is it mounted?" >&2
  exit 75
fi

echo '::progress 50 asking for the usage' >&3
used=$(df -P -- "$path" | awk 'NR == 2 { sub("%", "", $5); print $5 }')
echo "$path: $used% used (task ${MUSTER_TASK_ID:-by hand} of queue ${MUSTER_QUEUE:-none})"
echo '::progress 100 done' >&3

if [ "$used" -gt "$limit" ]; then
  echo "more than $limit%" >&2
  exit 1
fi
