import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT } from '@muster/base';
import type { Command } from 'commander';
import { isSuccess, type Job } from '../api.js';
import { backlogAsPlanned, showBacklog } from '../demo/backlog.js';
import { DEMO_NODES, type DemoServer, FAILING_NODE, REFUSING_NODE, startAgents, startServer } from '../demo/fleet.js';
import { furnish } from '../demo/furnish.js';
import { showLongJob } from '../demo/long-job.js';
import { DemoProcesses } from '../demo/processes.js';
import { Interrupted, showJob } from '../demo/show.js';
import type { RunWords } from '../demo/typed.js';
import { type Call, does, type Shell, subcommand } from '../shell.js';

interface DemoOptions {
  readonly keep?: boolean;
}

/** @param run Runs another command line in this process. */
export function addDemo(program: Command, shell: Shell, run: RunWords): void {
  const command = subcommand(program, {
    usage: 'demo',
    summary:
      'a server, five agents, two push jobs, a queue of twenty tasks and a long job on this machine, in a scratch directory',
    examples: ['muster demo', 'muster demo --keep', 'npm run demo -- --keep'],
  });
  command
    .option('--keep', 'leave the server and the agents running')
    .option('--json', 'all of it as one JSON document instead of text');
  does<DemoOptions>(command, shell, (call) => demo(call, run));
}

async function demo(call: Call<DemoOptions>, run: RunWords): Promise<number> {
  const processes = new DemoProcesses(mkdtempSync(join(tmpdir(), 'muster-demo-')));
  const interrupted = new Promise<never>((_, reject) => {
    call.world.onSignal(['SIGINT', 'SIGTERM', 'SIGHUP'], (signal) => reject(new Interrupted(signal)));
  });
  let kept = false;
  try {
    const { server, jobs, backlog, longJob } = await Promise.race([perform(call, processes, run), interrupted]);
    kept = call.options.keep === true;
    const running = kept ? await keep(call, processes, server, run) : null;
    call.out.document({ jobs, ...backlog, longJob, ...(running === null ? {} : { running }) });
    if (running === null) tellNext(call);
    else tellKept(call, running);
    const planned = wentAsPlanned(jobs) && backlogAsPlanned(backlog) && longJob.status === 'FINISHED';
    return planned ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (error instanceof Interrupted) return error.exit;
    throw error;
  } finally {
    if (!kept) await processes.stop();
  }
}

async function perform(call: Call<DemoOptions>, processes: DemoProcesses, run: RunWords) {
  const { out } = call;
  out.line(out.paint('Muster demo', 'bold'));
  out.line(`Scratch directory ${processes.directory}`);
  const server = await startServer(processes);
  out.line(`Server            ${server.url}  (SQLite, everything in one process)`);
  await startAgents(processes, server.client, (available) => tellAgents(call, available));
  out.line(`Agents            ${DEMO_NODES.join(' ')}  (enrolled with one token, each with its own key)`);
  const inside = insideDemo(call, server);
  const jobs = [
    await showJob(inside, {
      title: 'One command on all five nodes, which starts only when all five have committed',
      shown: "'env:demo' --quorum 100% -- uname -a",
      body: { command: 'uname -a', search: 'env:demo', quorum: '100%' },
    }),
    await showJob(inside, {
      title: `Four of five are enough: ${REFUSING_NODE} does not allow this command, and on ${FAILING_NODE} it fails`,
      shown: "'env:demo' --quorum 80% -- check-disk",
      body: { command: 'check-disk', search: 'env:demo', quorum: '80%' },
    }),
  ] as const;
  const place = { directory: processes.directory, config: server.config, run };
  const backlog = await showBacklog(inside, processes, server, place);
  return { server, jobs, backlog, longJob: await showLongJob(inside, server, place) };
}

/** Something for each screen of the console, and a link that signs in there. */
async function keep(
  call: Call<DemoOptions>,
  processes: DemoProcesses,
  { url, config, client }: DemoServer,
  run: RunWords,
): Promise<Running> {
  await furnish(call, { directory: processes.directory, config, run });
  const link = (await client.json('POST', client.inOrg('sign-in-links'))) as { readonly url: string };
  return { url, console: link.url, config, stop: processes.abandon() };
}

/** A line that counts up, on a terminal only. */
function tellAgents({ world }: Call<object>, available: number): void {
  if (world.stderr.isTTY !== true) return;
  const all = available === DEMO_NODES.length;
  world.stderr.write(`\r\u001b[2K${all ? '' : `Agents            ${available} of ${DEMO_NODES.length} available`}`);
}

/** The demo's own server instead of the one the caller may have configured, and Ctrl-C means the whole demo. */
function insideDemo(call: Call<DemoOptions>, { client }: DemoServer): Call<DemoOptions> {
  const { out, options, args, words } = call;
  const world = { ...call.world, onSignal: () => () => {} };
  const settings = { ...client.settings, confirmAbove: DEMO_NODES.length, source: 'the demo' };
  return { world, out, options, args, words, settings, client, server: { ...settings, proof: 'key' } };
}

/** The second job with exactly one refusal and one failure. */
function wentAsPlanned([first, second]: readonly [Job, Job]): boolean {
  const { nacked, failed } = second.nodes ?? {};
  return isSuccess(first) && nacked?.join() === REFUSING_NODE && failed?.join() === FAILING_NODE;
}

interface Running {
  readonly url: string;
  /** Signs in to the console, once, within a minute. */
  readonly console: string;
  readonly config: string;
  /** A script that stops everything and removes the scratch directory. */
  readonly stop: string;
}

function tellKept({ out }: Call<object>, { url, console, config, stop }: Running): void {
  out.line();
  out.line(out.paint('It keeps running.', 'bold'));
  out.line(`  Server   ${url}   API: ${url}/docs`);
  out.line(`  CLI      export MUSTER_CONFIG=${config}`);
  out.line(`  Console  ${console}`);
  out.line('           signs you in once, within a minute; another one: npx muster console');
  out.line('  Try      npx muster node list');
  out.line("           npx muster push start 'role:web' -- uname -a");
  out.line('           npx muster push list');
  out.line('           npx muster task add resize --param file=a.png --param width=200 --wait');
  out.line('           npx muster queue list');
  out.line('           npx muster job list');
  out.line(`  Stop it  sh ${stop}`);
}

function tellNext({ out }: Call<object>): void {
  out.line();
  out.line(out.paint('Everything is stopped and removed. What to try next:', 'bold'));
  out.line('  npm run demo -- --keep     the same, but leave it running to play with');
  out.line('  npx muster server          a server of your own, in ./muster-data');
  out.line('  docs/guide/quick-start.md  server and agents on real hosts');
}
