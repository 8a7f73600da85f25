import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { MusterError } from '../../errors.js';
import { jsonOf } from '../../files.js';
import { type Call, clientCommand, collect, does, type Shell } from '../../shell.js';
import { typedValue } from '../task/values.js';
import { type Job, jobPath } from './api.js';
import { followOutput } from './output.js';
import { outcome, waitFor } from './waiting.js';

interface AfterFlags {
  readonly wait?: boolean;
  readonly follow?: boolean;
  readonly idempotencyKey?: string;
}

interface SubmitFlags extends AfterFlags {
  readonly file: string;
}

interface RunFlags extends AfterFlags {
  readonly name?: string;
  readonly system?: string;
  readonly input?: readonly string[];
  readonly param?: readonly string[];
  readonly archivePath?: string;
  readonly archiveSystem?: string;
  readonly archive?: boolean;
  readonly batchQueue?: string;
  readonly nodes?: string;
  readonly processors?: string;
  readonly memory?: string;
  readonly maxRunTime?: string;
  readonly notify?: readonly string[];
}

export function addSubmit(job: Command, shell: Shell): void {
  const command = clientCommand(job, {
    usage: 'submit',
    summary: 'submit a job that is described in a file; prints its id',
    examples: ['muster job submit -f job.json', 'muster job submit -f - --wait < job.json'],
  });
  withAfter(command.requiredOption('-f, --file <file>', 'the job, as JSON; - is standard input'));
  does<SubmitFlags>(command, shell, async (call) => submit(call, await jsonOf(call.world, call.options.file)));
}

export function addRun(job: Command, shell: Shell): void {
  const command = clientCommand(job, {
    usage: 'run <app>',
    summary: 'run an app as a job; prints its id',
    examples: [
      'muster job run blast-1.0 --input query=agave://data/q.fasta --param evalue=1e-5',
      'muster job run blast-1.0 --input query=q.fasta --follow',
      'muster job run render-2.1 --param frames=1-100 --max-run-time 02:00:00 --notify FINISHED=me@example.com',
    ],
  });
  command
    .option('--name <text>', 'what the job is called (default: the name of the app)')
    .option('--input <id=uri>', 'a path or URI for an input of the app; may be repeated, also for one input', collect)
    .option('--param <id=value>', 'a value for a parameter of the app; may be repeated', collect)
    .option('--system <name>', 'where it runs, of an app that names no system (default: the default one)')
    .option('--archive-path <path>', 'where its output is kept')
    .option('--archive-system <name>', 'on which system')
    .option('--no-archive', 'leave the output where the job ran')
    .option('--batch-queue <name>', 'of the execution system')
    .option('--nodes <n>', 'how many nodes')
    .option('--processors <n>', 'on each of them')
    .option('--memory <size>', 'on each of them, such as 1.5GB')
    .option('--max-run-time <hh:mm:ss>', 'after which the scheduler ends it; without one, ten minutes later')
    .option('--notify <event=target>', 'an address or URL that is told of an event, such as FINISHED or *', collect);
  withAfter(command);
  does<RunFlags>(command, shell, async (call) => submit(call, requested(call)));
}

function withAfter(command: Command): Command {
  return command
    .option('--wait', 'until it has ended: 0 when it finished, else 1')
    .option('--follow', 'and show what it does and writes meanwhile')
    .option('--idempotency-key <text>', 'the same submission again is the same job');
}

async function submit(call: Call<AfterFlags>, body: unknown): Promise<number> {
  const { wait, follow, idempotencyKey } = call.options;
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  const path = jobPath(call.client);
  const answer = (await call.client.json('POST', path, { body, headers })) as { readonly result: Job };
  const made = answer.result;
  if (wait !== true && follow !== true) {
    call.out.document(made);
    call.out.line(made.id);
    return EXIT.ok;
  }
  // Stdout is what the job writes, or the document.
  if (follow === true || call.out.json) call.out.note(`job ${made.id}`);
  else call.out.line(made.id);
  const ended = follow === true ? await followOutput(call, made.id) : await waitFor(call, made.id);
  call.out.document(ended);
  return outcome(call, ended);
}

function requested({ args, options }: Call<RunFlags>): Readonly<Record<string, unknown>> {
  const [app = ''] = args;
  const { name, system, archive, archivePath, archiveSystem, batchQueue, nodes, processors, memory, maxRunTime } =
    options;
  const given = {
    executionSystem: system,
    archiveSystem,
    batchQueue,
    nodeCount: wholeNumber('--nodes', nodes),
    processorsOnEachNode: wholeNumber('--processors', processors),
    memoryPerNode: memory,
    maxRunTime,
  };
  return {
    name: name ?? app.replace(/-[^-]*$/, ''),
    appId: app,
    archive: archive !== false,
    ...(archive !== false && { archivePath: archivePath ?? '' }),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
    inputs: Object.fromEntries(
      several('--input', options.input).map(([id, uris]) => [id, uris.length > 1 ? uris : uris[0]]),
    ),
    parameters: Object.fromEntries(
      several('--param', options.param).map(([id, texts]) => {
        const values = texts.map((text) => typedValue(text, false));
        return [id, values.length > 1 ? values : values[0]];
      }),
    ),
    notifications: several('--notify', options.notify).flatMap(([event, targets]) =>
      targets.map((url) => ({ event, url, persistent: true })),
    ),
  };
}

/** What was given for each id, in the order in which it was. */
function several(flag: string, words: readonly string[] = []): [string, string[]][] {
  const found = new Map<string, string[]>();
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw new MusterError('usage', { reason: `${flag} takes ID=VALUE, not '${word}'` });
    const id = word.slice(0, at);
    found.set(id, [...(found.get(id) ?? []), word.slice(at + 1)]);
  }
  return [...found];
}

function wholeNumber(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,6}$/.test(text))
    throw new MusterError('usage', { reason: `${flag} takes a whole number from 1 on` });
  return Number(text);
}
