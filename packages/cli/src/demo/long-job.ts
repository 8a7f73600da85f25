import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readAll } from '../commands/envelope.js';
import { type JobSummary, jobPath } from '../commands/job/api.js';
import type { Call } from '../shell.js';
import type { DemoServer } from './fleet.js';
import { type DemoPlace, typed } from './typed.js';

const SYSTEM = 'here';
const APP = 'count-1.0';
const APP_FILE = 'count.json';
const TEXT_FILE = 'poem.txt';
const POEM = 'Two roads diverged in a yellow wood,\nAnd sorry I could not travel both\nAnd be one traveler\n';

/** As an app has it; not a template string of ours. */
const macro = (id: string): string => `\${${id}}`;

/** Which words of a text come most often. */
const COUNT = {
  id: APP,
  name: 'count',
  version: '1.0',
  executionType: 'CLI',
  parallelism: 'SERIAL',
  command: [
    'sh',
    '-c',
    'tr -cs "[:alpha:]" "\\n" < "$0" | sort | uniq -ic | sort -rn | head -"$1"',
    macro('text'),
    macro('top'),
  ],
  inputs: [{ id: 'text', value: { required: true } }],
  parameters: [{ id: 'top', value: { type: 'number', default: 3 } }],
  isPublic: true,
};

/** One job: an input file is staged, a program run on it, and what it wrote archived. */
export async function showLongJob(call: Call<object>, { client }: DemoServer, place: DemoPlace): Promise<JobSummary> {
  const { out } = call;
  out.line();
  out.line(out.paint('A job: its input is staged, its program run, its output archived', 'bold'));
  const root = join(place.directory, 'files');
  mkdirSync(root);
  writeFileSync(join(root, TEXT_FILE), POEM);
  writeFileSync(join(place.directory, APP_FILE), JSON.stringify(COUNT, null, 2));
  await typed(call, place, ['system', 'create', SYSTEM, '--type', 'local', '--root', root, '--default']);
  await typed(call, place, ['app', 'create', '--file', APP_FILE]);
  const run = ['job', 'run', APP, '--input', `text=agave://${SYSTEM}/${TEXT_FILE}`, '--param', 'top=2', '--wait'];
  await typed(call, place, run);
  const [job] = await readAll<JobSummary>(client, jobPath(client), {}, 1);
  if (job === undefined) throw new Error('the job that was waited for is not there');
  await typed(call, place, ['job', 'history', job.id]);
  await typed(call, place, ['job', 'output', job.id]);
  await typed(call, place, ['job', 'output', job.id, `count-${job.id}.out`]);
  return job;
}
