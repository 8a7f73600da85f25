import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { Judgement } from './judge.js';

/** Why a plugin was not run at all. */
export type StartFault =
  | { readonly fault: 'no queue'; readonly queue: string }
  | { readonly fault: 'no plugin'; readonly queue: string }
  | { readonly fault: 'not a full path'; readonly plugin: string }
  | { readonly fault: 'not executable'; readonly program: string }
  /** The node's configuration does not list it, or with a contract that there is not. */
  | { readonly fault: 'unknown type'; readonly plugin: string; readonly type: string }
  | { readonly fault: 'not a class'; readonly plugin: string };

/** What a task ends with whose plugin could not be run (sheet §3.5, first table; §3.1 for Perl). The texts are exact. */
export function unableToStart(fault: StartFault, task: string): Judgement {
  const stderr = textOf(fault, task);
  return { status: 2, stdout: 'Unable to start', stderr, reason: stderr, exitCode: null, signal: null };
}

function textOf(fault: StartFault, task: string): string {
  switch (fault.fault) {
    case 'no queue':
      return `queue ObjectID("${fault.queue}") not found for task ${task}`;
    case 'no plugin':
      return `no plugin defined for task ${task} in queue ${fault.queue}`;
    case 'not a full path':
      return `plugin value '${fault.plugin}' for task ${task} must be a full path`;
    case 'not executable':
      return `${fault.program} not found or not executable for task ${task}`;
    case 'unknown type':
      return `${fault.plugin} has unknown type '${fault.type}' for task ${task}`;
    case 'not a class':
      return `plugin value '${fault.plugin}' must be a valid perl package name, matching /^[\\w:]+$/`;
  }
}

/** What is wrong with a program, by the order of the table; null: it can be run. */
export async function programFault(program: string): Promise<StartFault | null> {
  if (!isAbsolute(program)) return { fault: 'not a full path', plugin: program };
  try {
    if ((await stat(program)).isFile()) {
      await access(program, constants.X_OK);
      return null;
    }
  } catch {
    // Missing, not to be reached, or not to be run: the table has one row for all of them.
  }
  return { fault: 'not executable', program };
}

const CLASS = /^[\w:]+$/;

/** What is wrong with the name of a Perl plugin; null: nothing. */
export function classFault(plugin: string): StartFault | null {
  return CLASS.test(plugin) ? null : { fault: 'not a class', plugin };
}
