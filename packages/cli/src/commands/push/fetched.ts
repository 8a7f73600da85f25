import { existsSync, lstatSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { open, rmdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { makeDirectories } from '@muster/base';
import type { Job } from '../../api.js';
import { MusterError } from '../../errors.js';
import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';
import { NotWritten, systemReason, writing } from '../../writing.js';
import { storedOutput } from './output-stream.js';

type Fetching = Call<{ readonly to?: string }>;

/**
 * Tries whether the directory of `--to` can be written to, or made; without the flag that of each job comes to be here. Nothing is left of it.
 * @throws MusterError `nowhere_to_write`
 */
export function checkPlace(call: Fetching): void {
  const directory = placeOf(call, '');
  try {
    rmdirSync(mkdtempSync(join(standing(directory), '.muster-')));
  } catch (error) {
    const reason = systemReason(error);
    throw new MusterError('nowhere_to_write', { directory: printable(directory), reason }, { cause: error });
  }
}

/** What there is of a path. @throws what the system says, if that is not only that there is nothing */
function standing(path: string): string {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined ? standing(dirname(path)) : path;
}

/**
 * Writes what nodes gave to DIRECTORY/NODE/NAME, each file whole or not at all.
 * @returns Whether every node that ended well gave its file whole.
 */
export async function saveFetched(call: Fetching, job: Job, name: string): Promise<boolean> {
  const directory = placeOf(call, job.id);
  const nodes = [...(job.nodes?.succeeded ?? [])].sort();
  let whole = 0;
  let replaced = 0;
  for (const node of nodes) {
    const path = join(directory, asName(node), name);
    const before = existsSync(path);
    const trouble = await save(call, job.id, node, path);
    if (trouble === null) {
      whole += 1;
      if (before) replaced += 1;
    } else call.out.note(printable(`${node}: ${trouble}`));
  }
  if (whole > 0) {
    const earlier = replaced === 0 ? '' : `, ${replaced} in the place of an earlier one`;
    call.out.line(`${whole} ${whole === 1 ? 'file' : 'files'}${earlier}: ${printable(join(directory, 'NODE', name))}`);
  }
  return whole === nodes.length;
}

/** Why the file is not there; null: it is, whole. */
async function save(call: Call<object>, id: string, node: string, path: string): Promise<string | null> {
  try {
    const complete = await write(call, id, node, path);
    return complete ? null : 'its file did not come whole, and was not kept';
  } catch (error) {
    if (!(error instanceof NotWritten)) throw error;
    return `its file was not kept: ${path} cannot be written (${error.message})`;
  }
}

/** @returns Whether it came whole. @throws NotWritten */
async function write(call: Call<object>, id: string, node: string, path: string): Promise<boolean> {
  const part = join(dirname(path), `.${basename(path)}.part`);
  const made = absent(dirname(path));
  let complete = false;
  const handle = await writing(() => {
    makeDirectories(dirname(path));
    return open(part, 'w', 0o600);
  });
  try {
    const onData = (data: Uint8Array) => writing(() => handle.writeFile(data));
    const info = await storedOutput(call, id)(node, 'stdout', { onData });
    // A file without bytes has no output.
    complete = info === null || (info.missing === null && info.dropped === 0);
    if (complete) await writing(() => renameSync(part, path));
    return complete;
  } finally {
    await writing(() => handle.close().finally(() => rmSync(part, { force: true })));
    if (!complete) for (const one of made) await rmdir(one).catch(() => {});
  }
}

/** Of a directory and those above it what is not there, the innermost first. */
function absent(path: string): string[] {
  return existsSync(path) ? [] : [path, ...absent(dirname(path))];
}

function placeOf({ world, options }: Fetching, standard: string): string {
  return resolve(world.cwd, options.to ?? standard);
}

/** Of one part: names of nodes are not looked at twice. */
function asName(node: string): string {
  return node === '.' || node === '..' ? encodeURIComponent(node).replaceAll('.', '%2E') : node.replaceAll('/', '%2F');
}
