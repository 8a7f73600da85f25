import type { Exit } from './started-process.js';

/** What logs: a process, or a server inside the tests' own. */
export interface Logging {
  readonly what: string;
  readonly log: string;
  /** Null: it goes on. */
  readonly exit: Exit | null;
}

/** A test that fails is read by people, with all others of its run. */
const LINES = 60;
const LONGEST_LINE = 600;
const MOST = 20;

/** Of the present test file, in the order of their starts. */
const logging = new Set<Logging>();

export function logs(one: Logging): void {
  logging.add(one);
}

/** What has ended is not what the next test is about. */
export function forgetEnded(): void {
  for (const one of logging) if (one.exit !== null) logging.delete(one);
}

export function forgetLogs(): void {
  logging.clear();
}

/** The end of each log. One that was started again goes on where it ended. */
export function endsOfLogs(): string {
  const lines = new Map<string, string[]>();
  for (const { what, log, exit } of logging) {
    const all = lines.get(what) ?? [];
    lines.set(what, all);
    all.push(...(log === '' ? [] : log.trimEnd().split('\n')));
    if (exit !== null) all.push(`(ended: ${exit.signal ?? exit.code})`);
  }
  const told = [...lines].slice(0, MOST).map(([what, all]) => {
    const end = all.slice(-LINES).map((line) => line.slice(0, LONGEST_LINE));
    return [`--- ${what}, ${end.length} of ${all.length} lines`, ...end].join('\n');
  });
  const more = lines.size > MOST ? [`--- and ${lines.size - MOST} more`] : [];
  return [...told, ...more].join('\n');
}
