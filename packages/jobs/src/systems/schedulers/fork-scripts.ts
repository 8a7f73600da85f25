import { STOPPED } from '../wrapper.js';
import { STOP } from './stop.js';

/**
 * What the fork scheduler has a shell of the system do: fixed texts, whose words arrive as arguments. POSIX sh, on Linux.
 * What they answer begins with `muster:`, whatever else a login there prints. A process is meant by `PID:TICKS:BOOT`: when
 * it was started, and since which boot, so that another one that has its pid is never taken for it.
 */

/** `seen PID BOOT` sets `state`, `session` and `ticks` of a process; they are empty when there is none. */
const SEEN = `
seen() {
  state= session= ticks=
  if { read -r line </proc/"$1"/stat; } 2>/dev/null; then
    set -- \${line##*)}
    state=$1 session=$4 ticks=\${20}
  fi
}
read -r boot </proc/sys/kernel/random/boot_id
`;

/**
 * `WRAPPER JOB STDOUT STDERR`: starts the wrapper unless somebody did, in a session of its own, and says what it calls
 * itself. The wrapper's own word is taken, not the pid that was started: of two starts it is the one that runs.
 */
export const LAUNCH = `
directory=\${1%/*}
child=
if ! test -d "$directory/.muster-started"; then
  setsid /bin/sh "$1" "$2" group </dev/null >>"$3" 2>>"$4" &
  child=$!
fi
tries=0
until test -f "$directory/.muster-started/by"; do
  if test -n "$child" && ! kill -0 "$child" 2>/dev/null && ! test -f "$directory/.muster-started/by"; then
    # It says why in its own stderr, unless the disk is full; then this says so.
    printf x | cat >"$directory/.muster-probe"
    rm -f "$directory/.muster-probe"
    tail -c 1000 "$4" >&2
    exit 4
  fi
  tries=$((tries + 1))
  if test "$tries" -ge 200; then
    echo 'its start was marked, but it never began' >&2
    exit 3
  fi
  sleep 0.05
done
printf 'muster:%s\\n' "$(cat "$directory/.muster-started/by")"
`;

/** `DIRECTORY PID TICKS BOOT` for each job: `running`, `ended CODE` or `lost`, a line for each. */
export const LOOK = `${SEEN}
ended() {
  test -f "$1/.muster-exit" && read -r code <"$1/.muster-exit" && echo "muster:ended $code"
}
while test $# -ge 4; do
  if ! ended "$1"; then
    seen "$2"
    if test "$4" = "$boot" && test "$ticks" = "$3" && test "$state" != Z; then echo muster:running
    elif ! ended "$1"; then echo muster:lost
    fi
  fi
  shift 4
done
`;

/**
 * `DIRECTORY JOB GRACE`: sees to it that nothing of a job runs, nor ever starts: `ended` or `unsure`. What is of it is
 * known by the session of its wrapper, and by the variable MUSTER_JOB, which also those have who left the session.
 */
export const KILL = `${SEEN}
directory=$1 job=$2 grace=$3
test -d "$directory" || { echo muster:ended; exit 0; }
(
${STOP}
) || { echo muster:unsure; exit 0; }
pid= started= since=
if { IFS=: read -r pid started since <"$directory/.muster-started/by"; } 2>/dev/null; then
  if test "$pid" = ${STOPPED}; then echo muster:ended; exit 0; fi
  seen "$pid"
  # Another process has its pid, so that its session is gone too.
  if test "$since" != "$boot" || { test -n "$ticks" && test "$ticks" != "$started"; }; then pid=; fi
fi
members() {
  if test -n "$pid"; then
    for stat in /proc/[0-9]*/stat; do
      process=\${stat#/proc/}
      process=\${process%/stat}
      seen "$process"
      if test "$session" = "$pid" && test "$state" != Z; then printf '%s\\n' "$process"; fi
    done
  fi
  for file in $(grep -lsF "MUSTER_JOB=$job" /proc/[0-9]*/environ); do
    process=\${file#/proc/}
    printf '%s\\n' "\${process%/environ}"
  done
}
signal=TERM
tries=0
while test "$tries" -lt $((grace + 50)); do
  found=$(members)
  if test -z "$found"; then echo muster:ended; exit 0; fi
  if test "$tries" -ge "$grace"; then signal=KILL; fi
  if test "$tries" = 0 || test "$signal" = KILL; then kill -s "$signal" $found 2>/dev/null; fi
  tries=$((tries + 1))
  sleep 0.1
done
echo muster:unsure
`;
