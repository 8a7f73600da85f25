import { SSH_LIMITS } from '@muster/platform/ssh';

/** Bounds of what is asked of systems. Times are milliseconds. */
export const SYSTEM_LIMITS = {
  /** A connection is kept longer than the six minutes between two looks of monitoring (sheet §3.3). */
  ...SSH_LIMITS,
  /** Bytes of a command's stdout, and of its stderr. */
  output: 1024 * 1024,
  commandMs: 60_000,
  /** Bytes of a path. */
  path: 4096,
  /** Names in one directory. */
  names: 200_000,
  /** Jobs that are looked at by one command, and bytes of its line. */
  looks: 500,
  line: 64 * 1024,
} as const;
