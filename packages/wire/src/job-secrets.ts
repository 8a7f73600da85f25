import type { CommandOptions } from './messages/index.js';

/**
 * What a node fetches when it is about to run a command, by name. Beside the secrets that the job names these are the file, when secrets
 * are in it, and those secrets themselves, which output must not show. Their names are none that a secret can have.
 */
export const SECRET_FILE = '.job-file';

/** Of a secret in the file. */
export function secretInFile(parameter: string): string {
  return `.${parameter}`;
}

/** Everything to be fetched for a command; of most it is nothing. */
export function secretNames({ secrets = {}, secretFile }: Pick<CommandOptions, 'secretFile' | 'secrets'>): string[] {
  return [...Object.keys(secrets), ...(secretFile === undefined ? [] : [SECRET_FILE, ...secretFile.map(secretInFile)])];
}
