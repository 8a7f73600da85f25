import { EXIT } from '@muster/base';
import { isSuccess, type Job } from '../../api.js';
import { MusterError } from '../../errors.js';
import { printable } from '../../printable.js';
import { confirm, isInteractive } from '../../prompt.js';
import type { Call } from '../../shell.js';
import { isAsked, tellAsked, type Asked as Waiting } from '../approval/asked.js';
import { warnOfUnquoted } from '../unquoted.js';
import { batchesText } from './batches.js';
import { jobNodes, needsFewer, tellEnd, WAITS_FOR_BUSY } from './job-nodes.js';
import { type OutputChoice, tellUnseen } from './live/view.js';
import { readJob } from './read-job.js';
import type { JobRequest } from './request.js';
import { tellResults } from './results/index.js';
import type { Target } from './target.js';
import { watchJob } from './watching.js';

export interface LaunchOptions {
  readonly output?: OutputChoice;
  readonly capture?: boolean;
  readonly detach?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly available?: boolean;
}

/** What the nodes of a job would say to it. */
export interface Forecast {
  readonly nodes: readonly string[];
  /** Those that would not run it. */
  readonly refusals: readonly { readonly node_name: string; readonly why: string; readonly reason: string }[];
  /** Of the others, those that say only when they are asked. */
  readonly uncertain: readonly string[];
  /** Why each of these does; an older server does not say it. */
  readonly doubts?: readonly { readonly node_name: string; readonly reason: string }[];
  readonly quorum: {
    readonly needed: number;
    /** Nodes that say that they can. */
    readonly least: number;
    /** With those that may. */
    readonly most: number;
    readonly verdict: 'reachable' | 'perhaps' | 'unreachable';
    /** Those that are in use are waited for; an older server does not say it. */
    readonly waits?: boolean;
  };
}

interface Preview extends Forecast {
  readonly count: number;
  readonly approval?: boolean;
}

/** What a job does, as far as nodes may have something against it. */
export interface Asked {
  readonly command?: string;
  readonly script?: boolean;
  readonly uploads?: boolean;
  readonly fetch?: boolean;
}

/** What a job has besides its request. */
export interface Luggage {
  /** What it does, for a question. */
  readonly what: string;
  readonly asks: Asked;
  /** Brings its files to the server, once it is certain that it is started; what the request says of them. */
  bring(): Promise<Readonly<Record<string, unknown>>>;
  /** In the place of its output. */
  ended?(job: Job): Promise<boolean>;
}

/** From a request to a started job and, unless detached, to its end. */
export async function launch(
  call: Call<LaunchOptions>,
  target: Target,
  body: JobRequest,
  luggage?: Luggage,
): Promise<number> {
  checkOutput(call.options);
  if ('search' in target) await warnOfUnquoted(call, target.search);
  if (call.options.dryRun === true) {
    const shown = await preview(call, target, { ...body, ...luggage?.asks });
    checkQuorum(body.quorum, shown.count);
    return showPreview(call, shown, body);
  }
  if (call.options.yes !== true || (isCount(body.quorum) && call.options.available !== true)) {
    const count = await nodeCount(call, target);
    checkQuorum(body.quorum, count);
    if (!(await agreed(call, count, luggage?.what ?? body.command ?? ''))) return EXIT.failed;
  }
  const answer = await call.client.post<{ id: string } | Waiting>(call.client.inOrg('pushy', 'jobs'), {
    ...body,
    ...(await luggage?.bring()),
  });
  return isAsked(answer) ? tellAsked(call, answer) : seeThrough(call, answer.id, luggage);
}

/** Output that nobody would see. @throws MusterError `usage` */
export function checkOutput({ capture, detach, output = 'none' }: LaunchOptions): void {
  if (output === 'none' || (capture !== false && detach !== true)) return;
  const why = capture === false ? 'what --no-capture takes none of' : 'what --detach does not wait for';
  throw new MusterError('usage', { reason: `--output ${output} shows ${why}: leave one of them out` });
}

/** A job that was started a moment ago: unless detached, to its end. */
export async function seeThrough(
  call: Call<Pick<LaunchOptions, 'detach' | 'output'>>,
  id: string,
  luggage?: Pick<Luggage, 'ended'>,
): Promise<number> {
  call.out.line(`Starting job id ${id}`);
  if (call.options.detach === true) {
    if (call.out.json) call.out.document(await readJob(call, id));
    return EXIT.ok;
  }
  const watched = await watchJob(call, id, {
    output: luggage?.ended === undefined ? call.options.output : 'none',
    justStarted: true,
  });
  if (watched.kind === 'left') return watched.exit;
  if (call.out.json) call.out.document({ ...watched.job, job_nodes: await jobNodes(call, id) });
  await tellResults(call, watched.job, call.options.output);
  await tellEnd(call, watched.job);
  if (luggage?.ended !== undefined) {
    const whole = await luggage.ended(watched.job);
    return whole && isSuccess(watched.job) ? EXIT.ok : EXIT.failed;
  }
  tellUnseen(call, watched.job, call.options.output);
  return isSuccess(watched.job) ? EXIT.ok : EXIT.failed;
}

function preview(call: Call<object>, target: Target, asked: JobRequest = {}): Promise<Preview> {
  return call.client.post<Preview>(call.client.inOrg('pushy', 'jobs', 'preview'), { ...target, ...asked });
}

const REASONS: Readonly<Record<string, string>> = {
  no_right: 'permission denied',
  unknown: 'unknown',
  down: 'down',
  rehab: 'in rehab',
  busy: 'busy',
  not_allowed: 'not allowed',
};

function showPreview(call: Call<object>, shown: Preview, body: JobRequest): number {
  call.out.document(shown);
  const exit = tellForecast(call, shown);
  const { most } = shown.quorum;
  const busy = shown.refusals.some(({ why }) => why === 'busy');
  if (exit !== EXIT.ok && busy && body.when_busy !== 'wait') call.out.note(WAITS_FOR_BUSY);
  if (exit !== EXIT.ok && most > 0) call.out.note(needsFewer(most));
  const batches = batchesText(body);
  if (batches !== null) call.out.line(batches);
  if (shown.approval === true) call.out.line('It would wait for others to agree: muster approval policy list');
  return exit;
}

/** Node by node what it would say, and whether that is enough. @returns How the command ends: not well when it is not */
export function tellForecast(call: Call<object>, shown: Forecast): number {
  const refusals = new Map(shown.refusals.map((refusal) => [refusal.node_name, refusal]));
  const uncertain = new Set(shown.uncertain);
  const doubts = new Map(shown.doubts?.map(({ node_name: name, reason }) => [name, reason]));
  const waiting = (why: string): boolean => shown.quorum.waits === true && (why === 'busy' || why === 'rehab');
  const perhaps = [...uncertain].filter((name) => !refusals.has(name)).length;
  const willing = shown.nodes.length - refusals.size - perhaps;
  const later = shown.refusals.filter(({ why }) => waiting(why)).length;
  const others = [
    ...(perhaps === 0 ? [] : [`, ${perhaps} perhaps`]),
    ...(later === 0 ? [] : [`, ${later} when free`]),
    ...(refusals.size === later ? [] : [`, ${refusals.size - later} would not`]),
  ];
  call.out.line(`${willing} ${willing === 1 ? 'node' : 'nodes'} would run it${others.join('')}:`);
  const width = Math.max(...shown.nodes.map((name) => name.length));
  for (const name of shown.nodes) {
    const refusal = refusals.get(name);
    const said =
      refusal !== undefined
        ? `${waiting(refusal.why) ? 'waits' : 'no'}: ${refusalText(refusal)}`
        : uncertain.has(name)
          ? `perhaps: ${doubts.get(name) ?? 'it does not tell beforehand'}`
          : 'yes';
    call.out.line(`  ${name.padEnd(width)}  ${printable(said)}`);
  }
  const { needed, least, most, verdict } = shown.quorum;
  const ready = least === most ? `${most}` : `${least} to ${most}`;
  const nowhere = verdict === 'unreachable' ? ': it would start nowhere' : '';
  const { length: all } = shown.nodes;
  const enough = needed === 1 && all > 1 ? 'whoever is available (at least one)' : `${needed} of ${all} must be ready`;
  call.out.line(`Quorum: ${enough}, ${ready} would be${nowhere}`);
  return verdict === 'unreachable' ? EXIT.failed : EXIT.ok;
}

/** What kind of refusal it is, unless its reason says that. */
function refusalText({ why, reason }: Forecast['refusals'][number]): string {
  const kind = REASONS[why] ?? why;
  return reason.startsWith(kind) ? reason : `${kind}, ${reason}`;
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
