import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT, sizeText } from '@muster/base';
import type { Command } from 'commander';
import { bodyPieces } from '../../body.js';
import { pathOf, RefusedError } from '../../client.js';
import { MusterError } from '../../errors.js';
import { printable } from '../../printable.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { readAll } from '../envelope.js';
import { tellTable } from '../resource.js';
import { hasEnded, type Job, jobPath, type OutputFile } from './api.js';
import { outcome, readJob, waitFor } from './waiting.js';

interface OutputFlags {
  readonly follow?: boolean;
  readonly stderr?: boolean;
}

/** Between two looks at a file that grows. */
const LOOK_MS = 1000;

export function addOutput(job: Command, shell: Shell): void {
  const command = clientCommand(job, {
    usage: 'output <job> [path]',
    summary: 'the files of a job: a list of them, or one, byte for byte; or what it writes while it runs',
    examples: [
      'muster job output JOB',
      'muster job output JOB results/table.csv > table.csv',
      'muster job output JOB --follow',
    ],
  });
  command
    .option('--follow', 'what it writes to stdout, as it comes, until it has ended: 0 when it finished, else 1')
    .option('--stderr', 'with --follow: what it writes to stderr');
  does<OutputFlags>(command, shell, async (call) => {
    const [id = '', path] = call.args;
    if (call.options.follow === true) return outcome(call, await followOutput(call, id, call.options.stderr));
    if (path === undefined || path.endsWith('/')) return list(call, id, path);
    await fetchFrom(call, id, path, 0);
    return EXIT.ok;
  });
}

/** What the program writes, and meanwhile each new status; ends with the job. */
export async function followOutput(call: Call<object>, id: string, stderr = false): Promise<Job> {
  let last = '';
  const heard = (told: { readonly status: string; readonly message: string }): void => {
    const line = `${told.status}: ${printable(told.message)}`;
    // A feed begins with how the job stands.
    if (line !== last) call.out.note(line);
    last = line;
  };
  const written = new Written(call, `${id}.${stderr ? 'err' : 'out'}`);
  await waitFor(call, id, heard, (status) => status === 'RUNNING');
  const reading = new AbortController();
  const ended = waitFor(call, id, heard).finally(() => reading.abort());
  // Awaited below: it may fail while something else is read.
  ended.catch(() => undefined);
  while (!reading.signal.aborted) {
    await written.more(id).catch(ifAway);
    await sleep(LOOK_MS, undefined, { signal: reading.signal }).catch(() => {});
  }
  const job = await ended;
  await written.more(id);
  return job;
}

/** A file that grows, as far as it was shown. */
class Written {
  readonly #call: Call<object>;
  readonly #ending: string;
  #path: string | null = null;
  #shown = 0;

  constructor(call: Call<object>, ending: string) {
    this.#call = call;
    this.#ending = ending;
  }

  async more(id: string): Promise<void> {
    const { client } = this.#call;
    const parts = this.#path?.split('/').filter((part) => part !== '') ?? [];
    const files = await readAll<OutputFile>(client, jobPath(client, id, 'outputs', 'listings', ...parts)).catch(
      ifThere,
    );
    const file = files?.find(({ name }) => name.endsWith(this.#ending));
    if (file === undefined) return;
    this.#path = file.path;
    if (file.length > this.#shown) this.#shown = await fetchFrom(this.#call, id, file.path, this.#shown);
  }
}

/** Where the job runs cannot be reached now: it is tried again while the job goes on. */
function ifAway(error: unknown): void {
  if (!(error instanceof RefusedError && error.code === 'job_output_unavailable')) throw error;
}

/** What is not there yet, or not any more, is not there. */
function ifThere(error: unknown): undefined {
  if (error instanceof RefusedError && error.code === 'job_output_not_found') return undefined;
  throw error;
}

/** Where the next part begins. */
async function fetchFrom(call: Call<object>, id: string, path: string, from: number): Promise<number> {
  const headers = from === 0 ? {} : { range: `bytes=${from}-` };
  const parts = path.split('/').filter((part) => part !== '');
  const address = jobPath(call.client, id, 'outputs', 'media') + pathOf(...parts);
  const { body } = await call.client.send('GET', address, { headers, endless: true });
  const write = call.out.foreign('bytes');
  let at = from;
  for await (const piece of bodyPieces(body, new AbortController().signal)) {
    await write(piece);
    at += piece.length;
  }
  return at;
}

async function list(call: Call<object>, id: string, path = ''): Promise<number> {
  const parts = path.split('/').filter((part) => part !== '');
  const base = jobPath(call.client, id, 'outputs', 'listings', ...parts);
  const files = await readAll<OutputFile>(call.client, base);
  call.out.document(files);
  tellTable(call, files, {
    Size: ({ type, length }) => (type === 'dir' ? null : sizeText(length)),
    Changed: ({ lastModified }) => timeText(lastModified),
    Path: ({ path: shown, type }) => (type === 'dir' ? `${shown}/` : shown),
  });
  if (files.length === 0) {
    const job = await readJob(call, id);
    const why = hasEnded(job) ? 'it left none' : `it is ${job.status}`;
    throw new MusterError('not_found', { kind: 'output', name: `of job ${id} (${why})` });
  }
  return EXIT.ok;
}
