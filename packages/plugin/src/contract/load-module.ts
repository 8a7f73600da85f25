import { existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import type { RunTask } from '../index.js';

/** There is nothing to run in the file of a module; the message says why. */
export class ModuleError extends Error {
  override readonly name = 'ModuleError';
}

/** What a module exports to be run. Throws ModuleError. */
export async function loadModule(file: string): Promise<RunTask> {
  const module = (await import(pathToFileURL(file).href).catch((error: unknown) => {
    const told = error instanceof Error ? error.message : String(error);
    // Node.js says of a file that is not there which of our files wanted it.
    const reason = existsSync(file) ? told : 'there is no such file';
    throw new ModuleError(`cannot load ${file}: ${reason}`, { cause: error });
  })) as { readonly run?: unknown };
  if (typeof module.run !== 'function') throw new ModuleError(`cannot run ${file}: it exports no function 'run'`);
  return module.run as RunTask;
}
