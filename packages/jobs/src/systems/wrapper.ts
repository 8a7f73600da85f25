import { quote } from '@muster/platform/ssh';

/** What a job's work directory holds besides what is its own; nothing of this is archived. */
export const WRAPPER_FILES = {
  /** Starts all the rest: `WRAPPER`, as it is. What `Launch.script` names. */
  wrapper: '.muster-wrapper',
  /** The program: a script or a binary, executable. */
  program: '.muster-program',
  /** `environmentText`. None: nothing is added. */
  environment: '.muster-environment',
  /** A directory, made by whoever starts the program first: nobody starts it after. `STARTED_BY` in it says who it was. */
  started: '.muster-started',
  /** Its exit code, in digits; there once it has ended. */
  exit: '.muster-exit',
} as const;

/** In the directory `started`: `PID:TICKS:BOOT` of the wrapper, or what Slurm calls it, or the id of its task. */
export const STARTED_BY = 'by';
/** Stands there when the job was stopped before anybody started it. */
export const STOPPED = 'stopped';
/**
 * A directory in `started`, made by the wrapper right before the program begins, when it is written who started it, or by whoever stops the
 * job: who makes it first decides whether the program begins.
 */
export const BEGUN = 'begun';

/** True for names that stand in `WRAPPER_FILES`, and for what the wrapper writes beside them. */
export function isWrapperFile(name: string): boolean {
  return name.startsWith('.muster-');
}

/**
 * Runs the program of its directory once, as `sh DIRECTORY/.muster-wrapper JOB group|batch [BY]`. It holds no word of anybody's:
 * what is to be run, and its environment, are files beside it. POSIX sh, on Linux.
 *
 * - `mkdir` says who was first: whoever comes second ends at once, and has done nothing. So it does when the job was stopped before its
 *   program began.
 * - Signals end the program, not the wrapper, which must say how the program ended.
 * - `group`: it leads a group of its own. What the program left running is ended, as a batch scheduler does.
 * - A full disk may be no more than full for a while: the exit code is written again and again for a minute. Where its directory is gone,
 *   nobody will read it: it looks twice more, as a file server may stumble.
 */
export const WRAPPER = `#!/bin/sh
# Runs .muster-program of this directory, once, and keeps its exit code in .muster-exit.
cd "\${0%/*}" || exit 125
MUSTER_JOB=$1
mode=$2
by=\${3:-$SLURM_JOB_ID}
export MUSTER_JOB

if ! why=$(mkdir .muster-started 2>&1); then
  test -d .muster-started && exit 0
  printf '%s\\n' "$why" >&2
  exit 125
fi

if test "$mode" = group; then
  read -r stat </proc/$$/stat
  read -r boot </proc/sys/kernel/random/boot_id
  # The 22nd field of all, the 20th after the name: when this process started.
  set -- \${stat##*)}
  by=$$:\${20}:$boot
fi
if ! { printf '%s\\n' "$by" >.muster-started/by.new && mv -f .muster-started/by.new .muster-started/by &&
  mkdir .muster-started/${BEGUN} 2>/dev/null; }; then
  test -d .muster-started/${BEGUN} && exit 0
  # A full disk: nothing was run yet, so that it may be started again.
  rm -rf .muster-started
  exit 125
fi

trap : HUP INT QUIT TERM USR1 USR2
(
  if test -f .muster-environment; then . ./.muster-environment; fi
  exec ./.muster-program
) </dev/null
code=$?

if test "$mode" = group; then
  trap '' HUP INT QUIT TERM USR1 USR2
  kill -TERM 0
fi
tries=0
until printf '%s\\n' "$code" >.muster-exit.new && mv -f .muster-exit.new .muster-exit; do
  test -d .muster-started && tries=$((tries + 1)) || tries=$((tries + 20))
  test "$tries" -ge 60 && break
  sleep 1
done 2>/dev/null
test "$mode" = group && kill -KILL 0
exit "$code"
`;

/**
 * The file that gives the program its variables.
 * @throws TypeError for a name that is none, and for a value with a zero byte.
 */
export function environmentText(variables: Readonly<Record<string, string>>): string {
  return Object.entries(variables)
    .map(([name, value]) => {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) throw new TypeError(`no name of a variable: '${name}'`);
      return `export ${name}=${quote(value)}\n`;
    })
    .join('');
}
