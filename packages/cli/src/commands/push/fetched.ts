import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Job } from '../../api.js';
import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';
import { storedOutput } from './output-stream.js';

/**
 * Writes what nodes gave to DIRECTORY/NODE/NAME, each file whole or not at all.
 * @returns Whether every node that ended well gave its file whole.
 */
export async function saveFetched(call: Call<{ readonly to?: string }>, job: Job, name: string): Promise<boolean> {
  const directory = resolve(call.world.cwd, call.options.to ?? job.id);
  const nodes = [...(job.nodes?.succeeded ?? [])].sort();
  let whole = 0;
  for (const node of nodes) {
    const place = join(directory, asName(node));
    if (await save(call, job.id, node, place, name)) whole += 1;
    else call.out.note(`${printable(node)}: its file did not come whole, and was not kept`);
  }
  if (whole > 0) {
    call.out.line(`${whole} ${whole === 1 ? 'file' : 'files'}: ${printable(join(directory, 'NODE', name))}`);
  }
  return whole === nodes.length;
}

async function save(call: Call<object>, id: string, node: string, place: string, name: string): Promise<boolean> {
  mkdirSync(place, { recursive: true });
  const part = join(place, `.${name}.part`);
  const handle = await open(part, 'w', 0o600);
  let complete = false;
  try {
    const onData = async (data: Uint8Array) => void (await handle.writeFile(data));
    const info = await storedOutput(call, id)(node, 'stdout', { onData });
    // A file without bytes has no output.
    complete = info === null || (info.missing === null && info.dropped === 0);
  } finally {
    await handle.close();
    if (!complete) rmSync(part, { force: true });
  }
  if (complete) renameSync(part, join(place, name));
  return complete;
}

/** Of one part: names of nodes are not looked at twice. */
function asName(node: string): string {
  return node === '.' || node === '..' ? encodeURIComponent(node).replaceAll('.', '%2E') : node.replaceAll('/', '%2F');
}
