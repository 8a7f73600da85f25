/** How the process of a task ended, in the fields that clients of Disbatch know: `cmdExit` and `cmdErr` (sheet §3.5). */

/** Of a process: one of the two is null, both when it had none of its own or was never started. */
export interface ProcessExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** What the Go runtime, whose texts these are, calls the signals of Linux. */
const SIGNALS: Readonly<Record<string, string>> = {
  SIGHUP: 'hangup',
  SIGINT: 'interrupt',
  SIGQUIT: 'quit',
  SIGILL: 'illegal instruction',
  SIGTRAP: 'trace/breakpoint trap',
  SIGABRT: 'aborted',
  SIGBUS: 'bus error',
  SIGFPE: 'floating point exception',
  SIGKILL: 'killed',
  SIGUSR1: 'user defined signal 1',
  SIGSEGV: 'segmentation fault',
  SIGUSR2: 'user defined signal 2',
  SIGPIPE: 'broken pipe',
  SIGALRM: 'alarm clock',
  SIGTERM: 'terminated',
  SIGSTKFLT: 'stack fault',
  SIGXCPU: 'CPU time limit exceeded',
  SIGXFSZ: 'file size limit exceeded',
  SIGVTALRM: 'virtual timer expired',
  SIGPROF: 'profiling timer expired',
  SIGIO: 'I/O possible',
  SIGPWR: 'power failure',
  SIGSYS: 'bad system call',
};

/** Exit status, -1 after a signal; null when there was no process. */
export function cmdExitOf(exitCode: number | null, signal: string | null): number | null {
  return signal === null ? exitCode : -1;
}

/** `<nil>`, `exit status N` or `signal: killed`; null when there was no process. */
export function cmdErrOf(exitCode: number | null, signal: string | null): string | null {
  if (signal !== null) return `signal: ${SIGNALS[signal] ?? signal}`;
  if (exitCode === null) return null;
  return exitCode === 0 ? '<nil>' : `exit status ${exitCode}`;
}
