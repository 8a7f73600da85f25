import { EXIT } from '@muster/base';
import { isSuccess } from '../../api.js';
import { MusterError } from '../../errors.js';
import { printable } from '../../printable.js';
import { confirm, isInteractive } from '../../prompt.js';
import type { Call } from '../../shell.js';
import { warnOfUnquoted } from '../unquoted.js';
import { showCaptured } from './captured.js';
import { tellEnd } from './job-nodes.js';
import type { JobRequest } from './request.js';
import type { Target } from './target.js';
import { readJob, watchJob } from './watching.js';

export interface LaunchOptions {
  readonly capture?: boolean;
  readonly detach?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface Preview {
  readonly count: number;
  readonly nodes: readonly string[];
  readonly restricted?: readonly string[];
}

/** From a request to a started job and, unless detached, to its end. */
export async function launch(call: Call<LaunchOptions>, target: Target, body: JobRequest): Promise<number> {
  if ('search' in target) await warnOfUnquoted(call, target.search);
  if (call.options.dryRun === true) {
    const shown = await preview(call, target);
    checkQuorum(body.quorum, shown.count);
    return showPreview(call, shown);
  }
  if (call.options.yes !== true || isCount(body.quorum)) {
    const count = await nodeCount(call, target);
    checkQuorum(body.quorum, count);
    if (!(await agreed(call, count, body.command))) return EXIT.failed;
  }
  const { id } = await call.client.post<{ id: string }>(call.client.inOrg('pushy', 'jobs'), body);
  call.out.line(`Starting job id ${id}`);
  if (call.options.detach === true) {
    if (call.out.json) call.out.document(await readJob(call, id));
    return EXIT.ok;
  }
  const watched = await watchJob(call, id);
  if (watched.kind === 'left') return watched.exit;
  call.out.document(watched.job);
  await tellEnd(call, watched.job);
  if (call.options.capture === true) await showCaptured(call, watched.job);
  return isSuccess(watched.job) ? EXIT.ok : EXIT.failed;
}

function preview(call: Call<object>, target: Target): Promise<Preview> {
  return call.client.post<Preview>(call.client.inOrg('pushy', 'jobs', 'preview'), target);
}

function showPreview(call: Call<object>, shown: Preview): number {
  call.out.document(shown);
  const restricted = new Set(shown.restricted ?? []);
  const allowed = shown.count - restricted.size;
  const denied = restricted.size === 0 ? '' : `, ${restricted.size} would not (permission denied)`;
  call.out.line(`${allowed} ${allowed === 1 ? 'node' : 'nodes'} would be asked to run it${denied}:`);
  for (const name of shown.nodes) call.out.line(`  ${name}${restricted.has(name) ? '  (permission denied)' : ''}`);
  return EXIT.ok;
}

async function nodeCount(call: Call<object>, target: Target): Promise<number> {
  return 'nodes' in target ? new Set(target.nodes).size : (await preview(call, target)).count;
}

/**
 * The API takes any count, as its clients know it (sheet §7.5: may exceed the number of nodes), and such a job ends
 * `quorum_failed`. Who types it has mistyped it, and is told before any node is asked.
 */
function checkQuorum(quorum: unknown, nodes: number): void {
  if (!isCount(quorum) || quorum <= nodes) return;
  const chosen = nodes === 1 ? '1 node was chosen' : `${nodes} nodes were chosen`;
  throw new MusterError('quorum_unreachable', { quorum, nodes, chosen });
}

/** Shares never ask for more than there is. */
function isCount(quorum: unknown): quorum is number {
  return typeof quorum === 'number' && quorum >= 1;
}

/** Many nodes need an explicit yes: `--yes`, or an answer at a terminal. */
async function agreed(call: Call<LaunchOptions>, count: number, command: string): Promise<boolean> {
  const limit = call.settings.confirmAbove;
  if (call.options.yes === true || count <= limit) return true;
  if (isInteractive(call.world)) return confirm(call.world, `Run '${printable(command)}' on ${count} nodes?`);
  throw new MusterError('usage', { reason: `this would run on ${count} nodes; more than ${limit} need --yes` });
}
