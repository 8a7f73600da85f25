import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EXIT } from '@muster/wire';
import type { Command } from 'commander';
import { isSuccess } from '../api.js';
import type { Client } from '../client.js';
import { DEMO_NODES, FAILING_NODE, REFUSING_NODE, startAgents, startServer } from '../demo/fleet.js';
import { DemoProcesses } from '../demo/processes.js';
import { Interrupted, showJob } from '../demo/show.js';
import { type Call, does, type Shell, subcommand } from '../shell.js';

interface DemoOptions {
  readonly keep?: boolean;
}

export function addDemo(program: Command, shell: Shell): void {
  const command = subcommand(program, {
    usage: 'demo',
    summary: 'a server, five agents and two push jobs on this machine, in a scratch directory',
    examples: ['muster demo', 'muster demo --keep', 'npm run demo -- --keep'],
  });
  command.option('--keep', 'leave the server and the agents running');
  does<DemoOptions>(command, shell, demo);
}

async function demo(call: Call<DemoOptions>): Promise<number> {
  const processes = new DemoProcesses(mkdtempSync(join(tmpdir(), 'muster-demo-')));
  const interrupted = new Promise<never>((_, reject) => {
    call.world.onSignal(['SIGINT', 'SIGTERM'], (signal) => reject(new Interrupted(signal === 'SIGINT' ? 130 : 143)));
  });
  let kept = false;
  try {
    const { config, url, succeeded } = await Promise.race([perform(call, processes), interrupted]);
    if (call.options.keep === true) {
      kept = true;
      processes.abandon();
      tellKept(call, processes, url, config);
    } else {
      tellNext(call);
    }
    return succeeded ? EXIT.ok : EXIT.failed;
  } catch (error) {
    if (error instanceof Interrupted) return error.exit;
    throw error;
  } finally {
    if (!kept) await processes.stop();
  }
}

async function perform(call: Call<DemoOptions>, processes: DemoProcesses) {
  const { out } = call;
  out.line(out.paint('Muster demo', 'bold'));
  out.line(`Scratch directory ${processes.directory}`);
  const { url, config, client } = await startServer(processes);
  out.line(`Server            ${url}  (SQLite, everything in one process)`);
  let seen = -1;
  await startAgents(processes, client, (available) => {
    if (available !== seen && call.world.stderr.isTTY === true) {
      call.world.stderr.write(`\r\u001b[2KAgents            ${available} of ${DEMO_NODES.length} available`);
    }
    seen = available;
  });
  if (call.world.stderr.isTTY === true) call.world.stderr.write('\r\u001b[2K');
  out.line(`Agents            ${DEMO_NODES.join(' ')}  (enrolled with one token, each with its own key)`);
  return { url, config, succeeded: await bothJobs(withClient(call, client), client) };
}

/** The demo's own server instead of the one the caller may have configured. */
function withClient(call: Call<DemoOptions>, client: Client): Call<DemoOptions> {
  const { world, out, options, args, words } = call;
  const settings = { ...client.settings, confirmAbove: DEMO_NODES.length, source: 'the demo' };
  return { world, out, options, args, words, settings, client };
}

/** True when both went as they should: the second one with one refusal and one failure. */
async function bothJobs(call: Call<DemoOptions>, client: Client): Promise<boolean> {
  const first = await showJob(call, client, {
    title: 'One command on all five nodes, which starts only when all five have committed',
    shown: "'env:demo' --quorum 100% --capture -- uname -a",
    words: ['uname', '-a'],
    body: { search: 'env:demo', quorum: '100%' },
  });
  const second = await showJob(call, client, {
    title: `Four of five are enough: ${REFUSING_NODE} does not allow this command, and on ${FAILING_NODE} it fails`,
    shown: "'env:demo' --quorum 80% --capture -- check-disk",
    words: ['check-disk'],
    body: { search: 'env:demo', quorum: '80%' },
  });
  const { nacked, failed } = second.nodes ?? {};
  return isSuccess(first) && nacked?.join() === REFUSING_NODE && failed?.join() === FAILING_NODE;
}

function tellKept(call: Call<object>, processes: DemoProcesses, url: string, config: string): void {
  const { out } = call;
  out.line();
  out.line(out.paint('It keeps running.', 'bold'));
  out.line(`  Server      ${url}   API: ${url}/docs`);
  out.line(`  CLI         export MUSTER_CONFIG=${config}`);
  out.line('  Try         npx muster node list');
  out.line("              npx muster push start 'role:web' --capture -- uname -a");
  out.line('              npx muster push list');
  out.line(`  Stop it     kill ${processes.pids.join(' ')}; rm -r ${processes.directory}`);
}

function tellNext(call: Call<object>): void {
  const { out } = call;
  out.line();
  out.line(out.paint('Everything is stopped and removed. What to try next:', 'bold'));
  out.line('  npm run demo -- --keep     the same, but leave it running to play with');
  out.line('  npx muster server          a server of your own, in ./muster-data');
  out.line('  docs/guide/quick-start.md  server and agents on real hosts');
}
