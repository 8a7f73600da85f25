import type { Job } from '../api/types.js';
import { musterCommand } from '../parts/shell.js';
import type { Wish } from './wish.js';

type Earlier = Pick<
  Job,
  | 'id'
  | 'command'
  | 'run_timeout'
  | 'user'
  | 'dir'
  | 'env'
  | 'secrets'
  | 'file_specified'
  | 'script'
  | 'uploads'
  | 'fetch'
  | 'batches'
  | 'concurrency'
  | 'max_failures'
>;

/** What of an earlier job the form of a new one can say. Pure. */
export function wishAgain(job: Earlier): Partial<Wish> {
  const count = (value: unknown): string => (typeof value === 'number' ? String(value) : '');
  return {
    command: job.command,
    user: job.user ?? '',
    dir: job.dir ?? '',
    concurrency: count(job.concurrency),
    maxFailures: count(job.max_failures),
    timeout: String(job.run_timeout),
  };
}

/** What it cannot say, in words, and the command that runs it again with it; null: nothing. */
export function leftOut(job: Earlier): { readonly what: string; readonly command: string } | null {
  const parts: readonly (readonly [unknown, string])[] = [
    [job.env, 'variables'],
    [job.secrets, 'secrets'],
    [job.file_specified === true ? true : undefined, 'a file'],
    [job.script, 'a script'],
    [job.uploads, 'uploads'],
    [job.fetch, 'a file to fetch'],
    [job.batches, 'batches'],
  ];
  const what = parts.filter(([value]) => value !== undefined).map(([, word]) => word);
  return what.length === 0 ? null : { what: what.join(', '), command: musterCommand('push', 'rerun', job.id) };
}
