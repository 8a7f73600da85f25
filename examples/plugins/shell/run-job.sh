#!/bin/sh
# Runs jobs on a node: what the queue of an execution system of type `tasks` is worked through with. The directory of the
# system's jobs (its root) must be there on the node under the same path, such as on NFS, and writable for the plugin's user.
# Whoever may add tasks to the queue has scripts below that directory run: give the queue to no other writers.
#
# agent.yaml:
#   tasks:
#     plugins:
#       run-job:
#         program: /opt/plugins/run-job.sh
#         args: [/srv/jobs, "{script}", "{job}", "{stdout}", "{stderr}"]
#         user: jobs
#
# Exit status: 0 once the job's program has run, however it ended, which is the job's affair and not the plugin's: five failures in
# a row would keep the node from its next jobs for a while. Else that of the wrapper, but 1 for 75, which would mean "run me again".
set -u

root=$1 script=$2 job=$3 stdout=$4 stderr=$5

for path in "$script" "$stdout" "$stderr"; do
  case $path in
    */../* | */..) echo "$path leaves $root" >&2; exit 1 ;;
    "$root"/*) ;;
    *) echo "$path is not below $root" >&2; exit 1 ;;
  esac
done

# It runs the program once, whoever calls it, and keeps the exit code for the job.
/bin/sh "$script" "$job" batch "${MUSTER_TASK_ID:-}" >>"$stdout" 2>>"$stderr"
code=$?
if [ -f "${script%/*}/.muster-exit" ]; then
  echo "the program of job $job has run: exit code $code"
  exit 0
fi
[ "$code" -ne 75 ] || code=1
exit "$code"
