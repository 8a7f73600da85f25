import { posix } from 'node:path';
import { commandLine } from '@muster/platform/ssh';
import { type Connection, type ExecResult, type Launch, SystemTrouble } from '../types.js';
import { launchTrouble, shown } from './text.js';

/** A job as Slurm's commands tell it. */
export interface SlurmRow {
  readonly id: string;
  readonly state: string;
  /** Why it waits, or failed. */
  readonly reason: string;
}

/** Slurm may take it, or answer, a little later. */
const BUSY = new RegExp(
  [
    'socket timed out',
    'unable to contact slurm controller',
    'slurm controller not responding',
    'temporarily unable to accept job',
    'zero bytes were transmitted',
    'connection (refused|reset|timed out)',
    'communication connection failure',
    'backup controller',
    'submit ?limit|max_?submit|maxjobs|job count limit|violates accounting/qos policy',
  ].join('|'),
  'i',
);
const MARK = 'muster:';

/** The commands of Slurm, as words, and what they print. */
export class SlurmCommands {
  readonly #system: string;
  readonly #connection: Connection;

  constructor(system: string, connection: Connection) {
    this.#system = system;
    this.#connection = connection;
  }

  /** The job's id. Null: it answered what is no id, so that nobody knows whether the job was taken. */
  async sbatch(launch: Launch): Promise<string | null> {
    const result = await this.#run(['sbatch', ...submitWords(launch)], batchScript(launch));
    if (result.code !== 0) throw launchTrouble(this.#system, 'sbatch', result, BUSY);
    const last = result.stdout.trim().split('\n').at(-1) ?? '';
    return /^([1-9]\d*)(;\S+)?$/.exec(last)?.[1] ?? null;
  }

  /** Those of these jobs that the controller still knows: jobs that ended are forgotten after some minutes. */
  squeue(by: { readonly ids: readonly string[] } | { readonly name: string }): Promise<SlurmRow[]> {
    const which = 'ids' in by ? `--jobs=${by.ids.join(',')}` : `--name=${by.name}`;
    return this.#rows(['squeue', '--noheader', '--states=all', which, `--format=${MARK}%A|%T|%r`], MARK);
  }

  /** From accounting. Null: there is none. */
  async sacct(by: { readonly ids: readonly string[] } | { readonly name: string }): Promise<SlurmRow[] | null> {
    // By name those are found that might have run in this time, also when they were ended before they were to begin.
    const time = ['--starttime=now-30days', '--endtime=now+365days'];
    const which = 'ids' in by ? [`--jobs=${by.ids.join(',')}`] : [`--name=${by.name}`, ...time];
    const words = ['--noheader', '--parsable2', '--allocations', '--format=JobIDRaw,State,Reason', ...which];
    try {
      return await this.#rows(['sacct', ...words], '');
    } catch (error) {
      if (error instanceof SystemTrouble && /accounting storage is disabled|not found/i.test(error.message))
        return null;
      throw error;
    }
  }

  async scancel(ids: readonly string[]): Promise<void> {
    const result = await this.#run(['scancel', ...ids]);
    // Of a job that is over, or was forgotten, it may say so.
    if (result.code !== 0 && !UNKNOWN.test(result.stderr)) throw this.#trouble('scancel', result);
  }

  notUnderstood(program: string, { stdout, stderr }: ExecResult): SystemTrouble {
    const said = shown(`${stdout}\n${stderr}`);
    const text = `${program} on system ${this.#system} answered what is not understood: ${said}`;
    return new SystemTrouble(this.#system, 'TRANSMISSION_FAILURE', text);
  }

  async #rows(argv: readonly [string, ...string[]], mark: string): Promise<SlurmRow[]> {
    const result = await this.#run(argv);
    if (result.code !== 0) {
      if (UNKNOWN.test(result.stderr)) return [];
      throw this.#trouble(argv[0], result);
    }
    const lines = result.stdout.split('\n').filter((line) => line.trim() !== '');
    const rows = lines.flatMap((line) => {
      const [, id, state, reason] = line.startsWith(mark) ? (ROW.exec(line.slice(mark.length)) ?? []) : [];
      return id === undefined || state === undefined ? [] : [{ id, state, reason: reason ?? '' }];
    });
    if (rows.length === 0 && lines.length > 0) throw this.notUnderstood(argv[0], result);
    return rows;
  }

  #trouble(program: string, result: ExecResult): SystemTrouble {
    const { code, signal, stdout, stderr } = result;
    const kind = BUSY.test(stderr) ? 'SCHEDULER_BUSY' : 'TRANSMISSION_FAILURE';
    const said = shown(stderr.trim() === '' ? stdout : stderr);
    return new SystemTrouble(
      this.#system,
      kind,
      `${program} on system ${this.#system} failed (${signal ?? code}): ${said}`,
    );
  }

  /** In the language that is understood here. */
  #run(argv: readonly [string, ...string[]], input = ''): Promise<ExecResult> {
    return this.#connection.exec(['env', 'LC_ALL=C', ...argv], { input });
  }
}

const UNKNOWN = /invalid job id/i;
const ROW = /^([1-9]\d*)\|([A-Z_]+(?:[ +][^|]*)?)\|(.*)$/;

/** What Slurm knows a job by, so that it is found although the answer of a submission was lost. */
export function slurmName(uuid: string): string {
  return `muster-${uuid}`;
}

function submitWords(launch: Launch): string[] {
  const { uuid, workDirectory, queue, nodeCount, processorsPerNode, memoryMb, maxSeconds } = launch;
  // Of a name with a percent sign Slurm would make another one.
  const output = (name: string): string => posix.join(workDirectory, name).replaceAll('%', '%%');
  return [
    '--parsable',
    // It is run once: nobody starts it again for us.
    '--no-requeue',
    '--open-mode=append',
    '--export=PATH,HOME,USER,LOGNAME,SHELL,LANG',
    `--job-name=${slurmName(uuid)}`,
    `--chdir=${workDirectory}`,
    `--output=${output(launch.stdout)}`,
    `--error=${output(launch.stderr)}`,
    ...(queue === null ? [] : [`--partition=${queue.name}`]),
    ...(nodeCount > 0 ? [`--nodes=${nodeCount}`] : []),
    ...(processorsPerNode > 0 ? [`--ntasks-per-node=${processorsPerNode}`] : []),
    ...(memoryMb > 0 ? [`--mem=${memoryMb}M`] : []),
    ...(maxSeconds > 0 ? [`--time=${Math.floor(maxSeconds / 60)}:${maxSeconds % 60}`] : []),
  ];
}

/** Directives of the queue as they are; ours are words of sbatch, which come first. */
function batchScript({ queue, script, uuid }: Launch): string {
  const directives = (queue?.directives ?? []).map((line) => `${line}\n`).join('');
  return `#!/bin/sh\n${directives}exec /bin/sh ${commandLine([script, uuid, 'batch'])}\n`;
}
