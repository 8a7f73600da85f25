import { type Command, Option } from 'commander';
import { isFinal, type Job } from '../../../api.js';
import { MusterError } from '../../../errors.js';
import { PAGE_SIZE } from '../../../limits.js';
import { printable } from '../../../printable.js';
import { type Call, clientCommand, does, type Shell } from '../../../shell.js';
import { count } from '../../queue/settings.js';
import { jobId, takesJob } from '../job-id.js';
import type { OutputChoice } from '../live/view.js';
import { readJob } from '../read-job.js';
import { comparedLines, outputOf } from './compared.js';
import { groupLines, type Result, type Results } from './group-lines.js';

interface ResultsOptions {
  readonly diff?: boolean;
  readonly group?: string;
  readonly limit: number;
}

const SHOWN = 20;
/** The server gives no more in one answer. */
const PAGE = 100;

export function addResults(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'results <job>',
    summary: 'nodes with the same result together, the largest group first, with how their output begins',
    examples: [
      'muster push results JOB',
      'muster push results JOB --diff',
      'muster push results JOB --group 3f2a9c01',
      'muster push rerun JOB --group 3f2a9c01',
    ],
  });
  takesJob(command);
  command
    .option(
      '--diff',
      "show how the output of the other groups differs from the largest one's; for people, not with --json",
    )
    .addOption(new Option('--group <digits>', 'the names of all nodes of this group').conflicts(['diff', 'limit']))
    .option('--limit <n>', 'at most this many groups', count('--limit', 1), SHOWN);
  does<ResultsOptions>(command, shell, async (call) => {
    if (call.options.diff === true && call.out.json) {
      throw new MusterError('usage', {
        reason: '--diff is shown to people, and --json has none: leave one of them out',
      });
    }
    const id = await jobId(call, call.args[0] ?? '');
    if (call.options.group !== undefined) return showGroup(call, id, call.options.group);
    const job = await readJob(call, id);
    await showResults(call, job, call.options);
  });
}

/** Groups of a job, as `push results` and the end of `push start --output grouped` have them. */
export async function showResults(
  call: Call<object>,
  job: Job,
  { diff = false, limit = SHOWN }: Partial<ResultsOptions> = {},
): Promise<void> {
  const found = await resultsOf(call, job.id, limit);
  call.out.document(found);
  if (call.out.json) return;
  const captured = job.capture_output === true;
  const [largest] = found.results;
  if (largest === undefined) call.out.line('no node has a result: none ran the command to its end');
  else if (!captured) call.out.note('no output was taken (--no-capture): results are exit codes alone');
  const differs = diff && captured && largest !== undefined && found.results.length > 1;
  const before = differs ? await outputOf(call, job.id, largest) : null;
  for (const group of found.results) {
    if (group !== largest) call.out.line();
    const alone = before === null || group === largest;
    const lines = alone ? groupLines(group) : await comparedLines(call, job.id, before, group);
    for (const line of lines) call.out.line(line);
  }
  const more = found.groups - found.results.length;
  const moreText = more === 1 ? '1 group' : `${more} groups`;
  if (more > 0) call.out.note(`… and ${moreText} more: muster push results ${job.id} --limit ${found.groups}`);
  if (!isFinal(job)) call.out.note('the job goes on: nodes that have not ended are not counted');
}

/** All its nodes, a name each line: the groups name the first few. */
async function showGroup(call: Call<object>, id: string, group: string): Promise<void> {
  const nodes = await nodesOfGroup(call, id, group);
  call.out.document({ id, group, nodes });
  for (const name of nodes) call.out.line(printable(name));
}

/** With `--output grouped`, before the end is told. */
export async function tellResults(call: Call<object>, job: Job, output: OutputChoice | undefined): Promise<void> {
  if (output !== 'grouped' || call.out.json) return;
  await showResults(call, job);
  call.out.line();
}

async function resultsOf(call: Call<object>, id: string, limit: number): Promise<Results> {
  const results: Result[] = [];
  for (;;) {
    const query = { limit: Math.min(PAGE, limit - results.length), after: results.length };
    const page = await call.client.get<Results>(call.client.inOrg('pushy', 'jobs', id, 'results'), query);
    results.push(...page.results);
    if (page.results.length < query.limit || results.length >= limit) return { ...page, results };
  }
}

/** All nodes with this result, by name. */
export async function nodesOfGroup(call: Call<object>, id: string, group: string): Promise<string[]> {
  const path = call.client.inOrg('pushy', 'jobs', id, 'nodes');
  const names: string[] = [];
  for (let after: string | undefined; ; after = names.at(-1)) {
    const page = await call.client.get<readonly { node_name: string }[]>(path, { group, limit: PAGE_SIZE, after });
    names.push(...page.map(({ node_name }) => node_name));
    if (page.length < PAGE_SIZE) return names;
  }
}
