import type { NodeRegistry } from '@muster/nodes';
import type { Organization } from '@muster/platform/auth';
import { Forecasts, type Wish } from '../commands/forecast.js';
import type { ToldCommands } from '../commands/told-commands.js';
import { MusterError } from '../errors.js';
import { isAvailable, reasonOf } from '../ownership/owned-node.js';
import type { Ownership } from '../ownership/ownership.js';
import type { Share } from '../types.js';
import { has, invalid, isObject } from './fields.js';
import { resolveQuorum } from './job-spec.js';
import { type JobRequest, readJobRequest } from './request.js';
import type { Target } from './request-target.js';
import type { ChosenNodes } from './targets.js';

const FLAGS = ['script', 'uploads', 'fetch'] as const;

/** Which nodes a job would have, and, when it says what it does, what they would say to it. */
export interface PreviewRequest extends Wish, Pick<JobRequest, 'batches' | 'batchPause' | 'batchConfirm'> {
  readonly target: Target;
  readonly quorum: JobRequest['quorum'];
  readonly whenBusy: JobRequest['whenBusy'];
}

/** Only what `readJobRequest` allows; but files are not brought yet, so it says only whether there are any, and needs no command. */
export function readPreviewRequest(body: unknown, text: string, maxNodes: number): PreviewRequest {
  if (!isObject(body)) throw new MusterError('invalid_job');
  const { script, uploads, fetch, ...job } = body;
  const request = readJobRequest({ command: '-', ...job }, text, { maxNodes });
  const { command, target, quorum, whenBusy, batches, batchPause, batchConfirm, options } = request;
  for (const key of FLAGS) {
    if (has(body, key) && typeof body[key] !== 'boolean') throw invalid(key, 'must be true or false');
  }
  return {
    ...{ target, quorum, whenBusy, batches, batchPause, batchConfirm },
    command: has(body, 'command') ? command : null,
    script: script === true,
    uploads: uploads === true,
    fetch: fetch === true,
    ...surroundings(options),
  };
}

/** As what, and with what around it, a command is to run: each node decides about that. */
export function surroundings({
  env,
  user,
  dir,
  file,
  secretFile,
  secrets,
}: JobRequest['options']): Pick<Wish, 'variables' | 'user' | 'dir' | 'file' | 'secrets'> {
  return {
    variables: Object.keys(env ?? {}).length > 0,
    user: user !== undefined,
    dir: dir !== undefined,
    file: file !== undefined || secretFile !== undefined,
    secrets: Object.keys(secrets ?? {}),
  };
}

export const REFUSALS = ['no_right', 'unknown', 'down', 'rehab', 'busy', 'not_allowed'] as const;

export interface Refusal {
  readonly node_name: string;
  readonly why: (typeof REFUSALS)[number];
  readonly reason: string;
}

export interface Doubt {
  readonly node_name: string;
  readonly reason: string;
}

export interface Preview {
  readonly refusals: Refusal[];
  /** Of the others, those whose answer is not known before they are asked. */
  readonly uncertain: string[];
  /** Why it is not known, of each of these. */
  readonly doubts: Doubt[];
}

export interface PreviewDeps {
  readonly nodes: Pick<NodeRegistry, 'get'>;
  readonly owners: Pick<Ownership, 'owned'>;
  readonly commands: Pick<ToldCommands, 'of'>;
}

/** What the nodes would say, by what is known of them: none is asked. */
export function forecast(
  { nodes, owners, commands }: PreviewDeps,
  org: Organization,
  { allowed, denied }: ChosenNodes,
  wish: Wish,
): Preview {
  const nothing = wish.command === null && FLAGS.every((key) => !wish[key]);
  const forecasts = new Forecasts(wish);
  const doubts: Doubt[] = [];
  const refusals: Refusal[] = denied.map((name) => ({
    node_name: name,
    why: 'no_right',
    reason: 'you may not run commands there',
  }));
  for (const name of allowed) {
    const node = nodes.get(org.id, name);
    if (node === undefined) {
      refusals.push({ node_name: name, why: 'unknown', reason: 'there is no such node' });
      continue;
    }
    const owned = owners.owned(node);
    if (!isAvailable(owned)) {
      const { kind } = owned.owner;
      const why = kind === 'job' ? 'busy' : kind === 'rehab' ? 'rehab' : 'down';
      refusals.push({ node_name: name, why, reason: reasonOf(owned) });
      continue;
    }
    if (nothing) continue;
    const foreseen = forecasts.of(commands.of(node), node.via);
    if (foreseen.says === 'perhaps') doubts.push({ node_name: name, reason: foreseen.why });
    else if (foreseen.says === 'no') refusals.push({ node_name: name, why: 'not_allowed', reason: foreseen.why });
  }
  refusals.sort(byName);
  doubts.sort(byName);
  return { refusals, uncertain: doubts.map(({ node_name: name }) => name), doubts };
}

function byName({ node_name: one }: Doubt, { node_name: other }: Doubt): number {
  return one < other ? -1 : 1;
}

/** Of how many nodes what is foreseen: how many would be asked, and how many would refuse, by why. */
export type Tally = Readonly<Record<'asked' | 'uncertain' | Refusal['why'], number>>;

export function tallied(count: number, { refusals, uncertain }: Preview): Tally {
  const by = (why: Refusal['why']) => refusals.filter((each) => each.why === why).length;
  return {
    asked: count - refusals.length,
    uncertain: uncertain.length,
    no_right: by('no_right'),
    unknown: by('unknown'),
    down: by('down'),
    rehab: by('rehab'),
    busy: by('busy'),
    not_allowed: by('not_allowed'),
  };
}

export interface QuorumVerdict {
  /** Nodes that must be ready. */
  readonly needed: number;
  /** Those that say that they can. */
  readonly least: number;
  /** With those that only know it when they are asked, and those that are waited for. */
  readonly most: number;
  readonly verdict: 'reachable' | 'perhaps' | 'unreachable';
  /** Nodes that are busy or in rehab are waited for. */
  readonly waits: boolean;
}

/** Whether enough nodes would be ready, by what is foreseen of them. @param usual The organization's quorum */
export function judgeQuorum(
  { quorum, whenBusy }: Pick<JobRequest, 'quorum' | 'whenBusy'>,
  nodes: number,
  { asked, uncertain, busy, rehab }: Tally,
  usual: Share | null,
): QuorumVerdict {
  const needed = resolveQuorum(quorum, nodes, usual);
  const waits = whenBusy === 'wait';
  const least = asked - uncertain;
  const most = asked + (waits ? busy + rehab : 0);
  const verdict = least >= needed ? 'reachable' : most >= needed ? 'perhaps' : 'unreachable';
  return { needed, least, most, verdict, waits };
}

/** What of a preview is about these nodes. */
export function previewOf(names: readonly string[], { refusals, uncertain, doubts }: Preview): Preview {
  const shown = new Set(names);
  return {
    refusals: refusals.filter(({ node_name: name }) => shown.has(name)),
    uncertain: uncertain.filter((name) => shown.has(name)),
    doubts: doubts.filter(({ node_name: name }) => shown.has(name)),
  };
}
