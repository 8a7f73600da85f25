import { ago, isoSeconds } from '@muster/base';
import type { NodeRegistry } from '@muster/nodes';
import type { JobNode } from '../machine/job-node.js';
import type { Hold, Stage } from '../machine/stage.js';
import type { NodeOwners } from '../ownership/types.js';
import { filesOf } from '../request/request-files.js';
import type { PushJobNodeStatus } from '../types.js';
import type { LiveJob } from './live-job.js';

/** What a node of an unfinished job may wait for. */
export const WAITS_FOR = ['node', 'vote', 'quorum', 'turn', 'start', 'end', 'abort'] as const;

export interface WaitingNode {
  readonly node: string;
  readonly status: PushJobNodeStatus;
  readonly waitsFor: (typeof WAITS_FOR)[number];
  readonly reason: string;
  /** The other job that has the node. */
  readonly jobId: string | null;
  /** Since when the command runs, the node is waited for, or was asked; null: that is not known. */
  readonly since: number | null;
}

export interface Explanation {
  /** About the job, in sentences. */
  readonly why: readonly string[];
  /** Those that have not ended, by name. */
  readonly nodes: readonly WaitingNode[];
}

interface Around {
  readonly nodes: Pick<NodeRegistry, 'get'>;
  readonly owners: NodeOwners;
  readonly now: number;
}

/** What an unfinished job waits for, and each of its nodes. */
export function explain(job: LiveJob, around: Around): Explanation {
  const nodes = [...job.unfinished].sort().flatMap((name) => {
    const node = job.nodes.get(name);
    return node === undefined ? [] : [waiting(job, name, node, around)];
  });
  return { why: sentences(job, around.now), nodes };
}

function waiting(job: LiveJob, name: string, node: JobNode, around: Around): WaitingNode {
  const told = { node: name, status: node.status, jobId: null, since: since(job, node) };
  const connected = around.nodes.get(job.org.id, name)?.peer ?? null;
  const lost = connected === null ? '; it has no connection to the command port now' : '';
  if (node.waits === 'turn') return { ...told, ...untilFree(job, name, around) };
  if (node.status === 'new')
    return { ...told, waitsFor: 'vote', reason: `was asked and has not answered${fetched(job)}${lost}` };
  if (job.state.phase === 'aborting') {
    return { ...told, waitsFor: 'abort', reason: `was told to abort and has not confirmed it${lost}` };
  }
  if (node.status === 'running') return { ...told, waitsFor: 'end', reason: `runs the command${lost}` };
  if (node.starting)
    return { ...told, waitsFor: 'start', reason: `was told to start and has not said that it runs${lost}` };
  if (job.state.phase === 'running') return { ...told, waitsFor: 'turn', reason: `is ready; ${pace(job)}` };
  return { ...told, waitsFor: 'quorum', reason: 'is ready; the quorum is not decided yet' };
}

/** Who waits waits from the beginning; of a job that waits for nodes, they are asked later. */
function since({ createdAt, spec }: LiveJob, { startedAt, status, waits }: JobNode): number | null {
  const fromTheBeginning = status === 'new' && (waits === 'turn' || spec.waitTimeout === undefined);
  return fromTheBeginning ? createdAt : startedAt;
}

/** Files may take long. */
function fetched({ spec }: LiveJob): string {
  const files = filesOf(spec.options);
  if (files.length === 0) return '';
  const bytes = files.reduce((sum, file) => sum + file.size, 0);
  return `; before it does it fetches ${count(files.length, 'file')} (${Math.ceil(bytes / 1024).toLocaleString('en-US')} KiB)`;
}

function untilFree(job: LiveJob, name: string, { owners }: Around): Pick<WaitingNode, 'waitsFor' | 'reason' | 'jobId'> {
  const owner = owners.ownerOf(job.org.id, name);
  const before = owners.placeOf(job.org.id, job.id, name) - 1;
  const queue = before > 0 ? `; ${count(before, 'job')} of its queue before this one` : '';
  if (owner?.kind === 'job') {
    return { waitsFor: 'node', reason: `is busy with job ${owner.jobId}${queue}`, jobId: owner.jobId };
  }
  const where = owner?.kind === 'rehab' ? `is in rehab: ${owner.reason}` : 'is about to be asked';
  return { waitsFor: 'node', reason: `${where}${queue}`, jobId: null };
}

/** Why a ready node of a running job is not started yet. */
function pace({ spec, state, tally }: LiveJob): string {
  if (state.stage?.hold != null) return HELD[state.stage.hold];
  const limits = [
    ...(state.stage?.left === 0 ? ['its batch has not begun'] : []),
    ...(spec.concurrency === null ? [] : [`${tally.starting + tally.running} of at most ${spec.concurrency} run`]),
    ...(spec.startRate === null ? [] : [`at most ${spec.startRate} are started per second`]),
  ];
  return limits.length === 0 ? 'it is about to be started' : limits.join(', ');
}

function sentences({ id, state, tally, spec, createdAt, updatedAt }: LiveJob, now: number): string[] {
  const since = `since ${isoSeconds(updatedAt)} (${ago(now - updatedAt)})`;
  const until = state.deadline === null ? null : isoSeconds(state.deadline);
  const busy =
    tally.waiting === 0 || spec.waitTimeout === undefined
      ? []
      : [
          `Waited for, as they were busy: ${count(tally.waiting, 'node')}. Not free by ${refusedAt(createdAt, spec.waitTimeout)}, they are refused.`,
        ];
  switch (state.phase) {
    case 'new':
      return [`Job ${id} is about to ask its nodes.`];
    case 'voting': {
      const votes =
        // Of a deadline that only those have who vote nobody is left.
        until === null || tally.new === 0
          ? 'It is decided when those that are waited for have voted.'
          : `It is decided when all that were asked have voted, at the latest ${until}: ${count(tally.new, 'vote')} missing.`;
      const quorum = `${tally.ready} of the ${spec.quorum} that are needed are ready`;
      return [`Job ${id} is voting ${since}: ${quorum}.`, votes, ...busy];
    }
    case 'running': {
      const { stage } = state;
      const batch = stage === null || spec.batches === undefined ? [] : [batchSentence(stage)];
      const held =
        stage === null || stage.hold === null
          ? []
          : stage.hold === 'pause'
            ? [`It pauses until ${isoSeconds(stage.until ?? now)}.`]
            : [`It is held (${state.reason}): continue it with \`muster push continue ${id}\`, or abort it.`];
      const standing = `${tally.running} running, ${tally.starting} starting, ${tally.ready} ready`;
      return [
        `Job ${id} is running ${since}: ${standing}. It ends at the latest ${until}.`,
        ...batch,
        ...held,
        ...busy,
      ];
    }
    case 'aborting':
      return [`Job ${id} is being aborted: ${state.reason}. Nodes have until ${until} to confirm it.`];
    case 'finished':
      return [`Job ${id} is ${state.status}.`];
  }
}

/** Why a ready node of a job that is held is not started. */
const HELD: Readonly<Record<Hold, string>> = {
  pause: 'the job pauses between two batches',
  confirm: 'the job waits to be continued with its next batch',
  failures: 'the job is held after failures, until it is continued',
};

function refusedAt(createdAt: number, seconds: number): string {
  return isoSeconds(createdAt + seconds * 1000);
}

function count(n: number, noun: string): string {
  return `${n} ${n === 1 ? noun : `${noun}s`}`;
}

function batchSentence({ batch, left }: Stage): string {
  if (left === 0) return `Batch ${batch} was started.`;
  return `Batch ${batch}: ${left === null ? 'all nodes that are left are' : `${count(left, 'node')} still`} to be started.`;
}
