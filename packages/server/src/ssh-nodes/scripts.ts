import { type Launch, RUN_MARKER } from '@muster/agent/elsewhere';
import { commandLine } from '@muster/platform/ssh';

/**
 * What the server asks of the shell of a host that has no agent. All of it is POSIX `sh`, its words are quoted by `commandLine`, and
 * what varies is handed in as arguments: nothing that a job says becomes text of a script.
 */

/** Longest line that a host is asked to run: Linux takes 128 KiB for one argument, and the login shell gets it as one. */
export const MOST_LINE_BYTES = 120_000;

/** Whether it runs here leads a process group. */
const LEADS = 'kill -0 -$$ 2>/dev/null';

const START = `echo "muster-run $0 $$"; echo "muster-run $0" >&2; exec "$@"`;
const START_SILENT = `echo "muster-run $0 $$"; echo "muster-run $0" >&2; exec "$@" >/dev/null 2>&1`;

/** `$0`: the run. `$1`: what starts the rest, which is the program and its arguments. */
const LAUNCH = `s=$1; shift
command -v -- "$1" >/dev/null 2>&1 || { echo "muster-missing $0"; exit 127; }
if ${LEADS}; then exec sh -c "$s" "$0" "$@"; fi
exec setsid sh -c "$s" "$0" "$@"`;

/** `$1`: the directory in which that is done. */
const LAUNCH_IN = `cd -- "$1" 2>/dev/null || { echo "muster-no-directory $0"; exit 126; }
shift
${LAUNCH}`;

/** A line that runs the command of a job, in a process group of its own, and first tells both streams that it begins. */
export function launchLine({ run, file, args, cwd, env, capture }: Launch): string {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const launch = cwd === undefined ? [LAUNCH, run] : [LAUNCH_IN, run, cwd];
  const words = ['env', ...variables, 'sh', '-c', ...launch, capture ? START : START_SILENT, file, ...args];
  return `exec ${commandLine(words)}`;
}

export type Begin =
  /** Its first line is not here yet. */
  | { readonly kind: 'not yet' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'no directory' }
  /** What comes after it is the command's. */
  | { readonly kind: 'begun'; readonly pid: number; readonly rest: Buffer };

/** What login shells print before it (a greeting in `.bashrc`) is not the command's, and is left out. */
export function beginOf(run: string, stdout: Buffer): Begin {
  const text = stdout.toString('latin1');
  if (new RegExp(`^muster-missing ${run}$`, 'm').test(text)) return { kind: 'missing' };
  if (new RegExp(`^muster-no-directory ${run}$`, 'm').test(text)) return { kind: 'no directory' };
  const found = new RegExp(`(?:^|\\n)muster-run ${run} (\\d+)\\n`).exec(text);
  if (found === null) return { kind: 'not yet' };
  return { kind: 'begun', pid: Number(found[1]), rest: stdout.subarray(found.index + found[0].length) };
}

/** What the command itself writes to stderr; null: it has not begun there. */
export function stderrOf(run: string, stderr: Buffer): Buffer | null {
  const line = `muster-run ${run}\n`;
  const at = stderr.indexOf(line);
  return at < 0 ? null : stderr.subarray(at + line.length);
}

/**
 * `$1`: a signal, or 0 for none; `$2`: the leader of the run, or 0; `$3`: what its processes carry in their environment. A process is of
 * the run when it is in the group or session of its leader, or carries that. Tells how many there are, and how many of them it may not signal.
 */
const SIGNAL = `s=$1 l=$2 n=0 x=0
if [ -r /proc/self/stat ]; then
  g=" $(grep -l -e "$3" /proc/[0-9]*/environ 2>/dev/null | tr '\\n' ' ')"
  for d in /proc/[0-9]*; do
    p=\${d#/proc/}
    [ "$p" = "$$" ] && continue
    { read -r t <"$d/stat"; } 2>/dev/null || continue
    t=\${t##*) }
    set -- $t
    case $1 in Z|X|x) continue;; esac
    m=0
    [ "$l" != 0 ] && { [ "$3" = "$l" ] || [ "$4" = "$l" ]; } && m=1
    case $g in *" $d/environ "*) m=1;; esac
    [ $m = 1 ] || continue
    n=$((n+1))
    if [ "$s" = 0 ]; then kill -0 "$p" 2>/dev/null || x=$((x+1))
    else kill -s "$s" "$p" 2>/dev/null && { [ "$s" = KILL ] || kill -s CONT "$p" 2>/dev/null; } || x=$((x+1)); fi
  done
elif [ "$l" != 0 ] && kill -0 -"$l" 2>/dev/null; then
  n=1
  [ "$s" = 0 ] || kill -s "$s" -- -"$l" 2>/dev/null
fi
echo "muster-left $n $x"`;

export function signalLine(
  signal: 'TERM' | 'KILL' | '0',
  { leader, marker }: { readonly leader: number | null; readonly marker: string },
): string {
  const words = ['sh', '-c', SIGNAL, 'muster', signal, String(leader ?? 0), `${RUN_MARKER}=${marker}`];
  return `exec ${commandLine(words)}`;
}

/** How many processes of a run there are, and how many of them the server's login may not signal; null: that was not told. */
export function leftOf(stdout: string): { readonly left: number; readonly denied: number } | null {
  const [, left, denied] = /^muster-left (\d+) (\d+)$/m.exec(stdout) ?? [];
  return left === undefined ? null : { left: Number(left), denied: Number(denied) };
}

const LOOK = `g=0 t=0 p=0
${LEADS} && g=1
command -v setsid >/dev/null 2>&1 && t=1
[ -r /proc/self/stat ] && p=1
echo "muster-look $g $t $p $(uname -s 2>/dev/null)"`;

/** `$1`: a directory. */
const LOOK_IN = `${LOOK}
d=yes
cd -- "$1" 2>/dev/null || d=no
echo "muster-directory $d"`;

/** Whether commands can be run and ended there, in a directory if one is given. */
export function lookLine(dir?: string): string {
  return `exec ${commandLine(['sh', '-c', ...(dir === undefined ? [LOOK, 'muster'] : [LOOK_IN, 'muster', dir])])}`;
}

export interface Look {
  /** A command leads a process group, by itself or by `setsid`. */
  readonly groups: boolean;
  /** Processes can be found by what they carry, also after the server was restarted. */
  readonly processes: boolean;
  readonly system: string;
  /** Whether the directory that was asked about is there, and may be entered. */
  readonly directory: boolean | undefined;
}

export function lookOf(stdout: string): Look | null {
  const [, leads, setsid, proc, system = ''] = /^muster-look ([01]) ([01]) ([01]) ?(.*)$/m.exec(stdout) ?? [];
  if (leads === undefined) return null;
  const [, entered] = /^muster-directory (yes|no)$/m.exec(stdout) ?? [];
  const directory = entered === undefined ? undefined : entered === 'yes';
  return { groups: leads === '1' || setsid === '1', processes: proc === '1', system: system.trim(), directory };
}
