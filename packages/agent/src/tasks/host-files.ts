import { basename, join } from 'node:path';

/** Where an agent keeps what is about tasks, and there, a directory for each host. */
export function tasksDirectory(dataDir: string): string {
  return join(dataDir, 'tasks');
}

export function hostsDirectory(tasks: string): string {
  return join(tasks, 'hosts');
}

/** What is in the directory of a host. */
export const HOST_FILES = {
  /** What it was started with. */
  spec: 'spec.json',
  /** Its process, as long as it lives. */
  pid: 'pid',
  /** Where the agent talks to it. */
  socket: 'socket',
} as const;

/** Begins the mark (MUSTER_RUN) of all processes that this host starts, so that what is left of a dead one can be found. */
export function hostMark(directory: string): string {
  return `${basename(directory)}.`;
}
