import type { Command } from 'commander';
import type { FoundJob } from '../../api.js';
import { MusterError } from '../../errors.js';
import { printable, shortened } from '../../printable.js';
import type { Call } from '../../shell.js';
import { timeText } from '../../summary.js';
import type { Chosen } from './target.js';

const MOST_SHOWN = 5;
const COMMAND_CHARACTERS = 60;
/** What may be the beginning of an id. Anything else is the whole id, or none, as the server will say. */
const BEGINNING = /^[0-9a-f]{1,31}$/;
const LEAST_DIGITS = 4;
/** The same in all ids of an organization; the server lets them be left out. */
const COMMON_DIGITS = 12;
/** Random ones: among a million jobs one in a million shares them with another. */
const SHOWN_DIGITS = 10;

/** Says in --help how the job may be named. */
export function takesJob(command: Command): void {
  const [job] = command.registeredArguments;
  if (job !== undefined)
    job.description = `id of the job, or at least ${LEAST_DIGITS} digits that only its id begins with`;
}

/**
 * The whole id of the job that somebody means.
 * @throws MusterError `usage`, `push_job_not_found`, `ambiguous_job`
 */
export async function jobId(call: Call<object>, typed: string): Promise<string> {
  if (!BEGINNING.test(typed)) return typed;
  if (typed.length < LEAST_DIGITS) {
    throw new MusterError('usage', {
      reason: `'${typed}' is too short: type at least ${LEAST_DIGITS} digits of the id`,
    });
  }
  const found = await call.client.get<FoundJob[]>(call.client.inOrg('pushy', 'jobs', 'lookup', typed));
  const [job] = found;
  if (job === undefined) throw new MusterError('push_job_not_found', { job: typed });
  if (found.length > 1) throw new MusterError('ambiguous_job', { digits: typed, jobs: candidates(found) });
  return job.id;
}

/**
 * Who may not look jobs up, or finds only those that they started, may still abort or continue another: the server knows which is meant, as long
 * as it goes on.
 */
export async function jobToChange(call: Call<object>, typed: string): Promise<string> {
  try {
    return await jobId(call, typed);
  } catch (error) {
    if (error instanceof MusterError && ['forbidden', 'push_job_not_found'].includes(error.code)) return typed;
    throw error;
  }
}

/**
 * An id as a list shows it: on a terminal ten digits, without those that all ids of the organization begin with. They
 * name the job wherever one is asked for. Elsewhere whole, for programs that use it otherwise.
 */
export function shownId(call: Call<object>, id: string): string {
  return call.out.onTerminal && /^[0-9a-f]{32}$/.test(id) ? id.slice(COMMON_DIGITS, COMMON_DIGITS + SHOWN_DIGITS) : id;
}

/** The earlier job that the nodes are from, by its whole id. */
export async function withJobId(call: Call<object>, chosen: Chosen): Promise<Chosen> {
  if (!('from_job' in chosen.target)) return chosen;
  const { id, statuses } = chosen.target.from_job;
  return { ...chosen, target: { from_job: { id: await jobId(call, id), statuses } } };
}

function candidates(found: readonly FoundJob[]): string {
  const lines = found.slice(0, MOST_SHOWN).map(({ id, command, created_at }) => {
    const shown = shortened(printable(command), COMMAND_CHARACTERS);
    return `\n  ${printable(id)}  ${timeText(created_at)}  ${shown}`;
  });
  return lines.join('') + (found.length > MOST_SHOWN ? '\n  … and more' : '');
}
