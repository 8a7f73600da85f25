import { chown, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '@muster/base';
import type { CommandOptions } from '@muster/wire';
import type { Account } from '../execution/account.js';
import { JOB_FILE_PREFIX, makeFileDir } from '../execution/job-file.js';
import { FILE_RETRY_FIRST_MS, FILE_RETRY_LONGEST_MS, SECRET_RETRIES } from '../limits.js';
import { FileUnavailable, pause } from './download.js';

/** Secrets of a push job, by name. @throws FileUnavailable; anything else may pass */
export type SecretSource = (jobId: string) => Promise<ReadonlyMap<string, string>>;

/** Where the secrets of one run are files. Nothing else has this path. */
export function secretDirectory(fileDir: string, run: string): string {
  return join(fileDir, `${JOB_FILE_PREFIX}-secrets-${run}`);
}

/** The options with the variables that name files of secrets among those that the job sets: the node's owner allows them alike. */
export function withSecretPaths(options: CommandOptions, directory: string): CommandOptions {
  const { secrets, env = {} } = options;
  if (secrets === undefined) return options;
  const named = Object.entries(secrets).filter(([, variable]) => variable !== '');
  const paths = Object.fromEntries(named.map(([name, variable]) => [variable, join(directory, name)]));
  return { ...options, env: { ...env, ...paths } };
}

/** Asks again when it may help. @throws FileUnavailable; the reason of the signal when that is aborted */
export async function fetchSecrets(
  { clock, source }: { readonly clock: Pick<Clock, 'after'>; readonly source: SecretSource },
  jobId: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  for (let failures = 0; ; ) {
    signal.throwIfAborted();
    try {
      const values = await source(jobId);
      const missing = names.find((name) => !values.has(name));
      if (missing !== undefined) throw new FileUnavailable(`the server does not give the secret ${missing}`);
      return new Map(names.map((name) => [name, values.get(name) ?? '']));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof FileUnavailable) throw error;
      failures += 1;
      const why = error instanceof Error ? error.message : String(error);
      if (failures > SECRET_RETRIES) throw new FileUnavailable(`the secrets of the job could not be fetched: ${why}`);
      await pause(clock, Math.min(FILE_RETRY_FIRST_MS * 2 ** (failures - 1), FILE_RETRY_LONGEST_MS), signal);
    }
  }
}

/** Writes each to a file of its name that only the user of the command reads. */
export async function writeSecrets(
  fileDir: string,
  directory: string,
  values: ReadonlyMap<string, string>,
  owner: Account | null,
): Promise<void> {
  await makeFileDir(fileDir);
  await writeSecretFiles(directory, values, owner);
}

/** The same in a directory that nobody else can put something in the place of. */
export async function writeSecretFiles(
  directory: string,
  values: ReadonlyMap<string, string>,
  owner: Account | null,
): Promise<void> {
  await mkdir(directory, { mode: 0o700 });
  for (const [name, value] of values) {
    const handle = await open(join(directory, name), 'wx', 0o600);
    try {
      await handle.writeFile(value);
      if (owner !== null) await handle.chown(owner.uid, owner.gid);
    } finally {
      await handle.close();
    }
  }
  if (owner !== null) await chown(directory, owner.uid, owner.gid);
}

/** Of a run that has ended. */
export async function removeSecrets(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
}
