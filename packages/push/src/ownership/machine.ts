import type { RestartEnd } from '@muster/nodes';
import type { AgentState } from '@muster/wire';
import type { Owner, PushMessage } from './types.js';

/** Ownership (Push Jobs §5.5): decides who handles the messages of a node, one machine for each node. */

export type OwnershipEvent =
  /** The server has started and no unfinished job has claimed the node back (§5.5.1, §5.5.4). */
  | { readonly type: 'loaded'; readonly untouched: boolean }
  | { readonly type: 'up' }
  | { readonly type: 'down' }
  | { readonly type: 'claim'; readonly jobId: string }
  /** At start-up only: an unfinished job takes its node back (N10). */
  | { readonly type: 'readopt'; readonly jobId: string }
  | { readonly type: 'release'; readonly jobId: string; readonly to: 'idle' | 'rehab'; readonly reason: string }
  /** `leftover`: it answers an abort that rehab sent before the node became idle. */
  | { readonly type: 'message'; readonly message: PushMessage; readonly leftover: boolean }
  | { readonly type: 'heartbeat'; readonly state: AgentState; readonly jobId: string | null; readonly jobLive: boolean }
  /** The agent runs under another incarnation, or says that it has just started. */
  | { readonly type: 'restarted'; readonly end: RestartEnd }
  | { readonly type: 'rehab_tick' }
  /** The invariant of §5.5.3: an up node is always owned, by a job only while that job lives. */
  | { readonly type: 'check'; readonly status: 'up' | 'down'; readonly jobLive: boolean };

export type OwnershipEffect =
  | { readonly do: 'abort' }
  /** Hand what happened to the job that owned the node when it happened. */
  | { readonly do: 'tell'; readonly jobId: string }
  | { readonly do: 'drop'; readonly why: string }
  | { readonly do: 'violation'; readonly what: string };

export interface OwnershipStep {
  /** The same object as before when nothing changed. */
  readonly owner: Owner;
  readonly effects: readonly OwnershipEffect[];
}

const ABORT: OwnershipEffect = { do: 'abort' };
const NONE: readonly OwnershipEffect[] = [];

export function stepOwnership(owner: Owner, event: OwnershipEvent, at: number): OwnershipStep {
  const stay = (...effects: OwnershipEffect[]): OwnershipStep => ({ owner, effects });
  const rehab = (reason: string, ...before: OwnershipEffect[]): OwnershipStep => ({
    owner: { kind: 'rehab', since: at, reason },
    effects: [...before, ABORT],
  });

  switch (event.type) {
    case 'loaded':
      if (event.untouched && owner.kind === 'idle') {
        return {
          owner: { kind: 'rehab', since: at, reason: 'the server was restarted', untouched: true },
          effects: NONE,
        };
      }
      return owner.kind === 'down' ? stay() : rehab('the server has started');

    case 'up':
      return owner.kind === 'down' ? rehab('it came up') : stay();

    case 'down':
      if (owner.kind === 'down') return stay();
      return {
        owner: { kind: 'down' },
        effects: owner.kind === 'job' ? [{ do: 'tell', jobId: owner.jobId }] : NONE,
      };

    case 'claim':
      return owner.kind === 'idle' ? { owner: { kind: 'job', jobId: event.jobId }, effects: NONE } : stay();

    case 'readopt':
      // A job that was stored without its claims finds its nodes idle. What is down, in rehab or another job's stays so.
      if (owner.kind !== 'idle' && !(owner.kind === 'job' && owner.jobId === event.jobId)) return stay();
      return { owner: { kind: 'job', jobId: event.jobId }, effects: NONE };

    case 'release':
      if (owner.kind !== 'job' || owner.jobId !== event.jobId) return stay();
      return event.to === 'idle' ? { owner: { kind: 'idle' }, effects: NONE } : rehab(event.reason);

    case 'message':
      // Rehab may have aborted twice before the first answer came; the job must not take the second for its own.
      if (event.leftover && owner.kind === 'job') return stay({ do: 'drop', why: 'it answers an earlier abort' });
      return receive(owner, event.message, stay, rehab);

    case 'heartbeat':
      switch (owner.kind) {
        case 'job':
          return stay({ do: 'tell', jobId: owner.jobId });
        case 'idle':
          if (event.jobId === null) return stay();
          // §5.3.6: it is not part of that job, dead or alive.
          return rehab(`it reported ${event.jobLive ? 'a job it is not part of' : 'a job that is over'}`);
        case 'rehab':
          return owner.untouched && event.state === 'ready' && event.jobId === null
            ? { owner: { kind: 'idle' }, effects: NONE }
            : stay();
        case 'down':
          return stay();
      }
      break;

    case 'restarted':
      switch (owner.kind) {
        case 'job':
          return rehab(restartReason(event.end), { do: 'tell', jobId: owner.jobId });
        case 'idle':
          return rehab(restartReason(event.end));
        case 'rehab':
          return owner.untouched ? rehab(restartReason(event.end)) : stay();
        case 'down':
          return stay();
      }
      break;

    case 'rehab_tick':
      return owner.kind === 'rehab' ? stay(ABORT) : stay();

    case 'check': {
      const what = broken(owner, event.status, event.jobLive);
      if (what === null) return stay();
      const violation: OwnershipEffect = { do: 'violation', what };
      return event.status === 'down' ? { owner: { kind: 'down' }, effects: [violation] } : rehab(what, violation);
    }
  }
  return stay();
}

function receive(
  owner: Owner,
  message: PushMessage,
  stay: (...effects: OwnershipEffect[]) => OwnershipStep,
  rehab: (reason: string) => OwnershipStep,
): OwnershipStep {
  switch (owner.kind) {
    case 'down':
      return stay({ do: 'drop', why: 'the node is down' });
    case 'rehab':
      // A command that is still being killed leaves the node in an unknown state: settled is what counts.
      if (message.type === 'aborted' && message.settled) return { owner: { kind: 'idle' }, effects: NONE };
      return stay({ do: 'drop', why: 'the node is in rehab' });
    case 'job':
      return stay({ do: 'tell', jobId: owner.jobId });
    case 'idle':
      switch (message.type) {
        // Left over from rehab or from connecting; rehab for these would bounce the node back and forth (§5.5.3).
        case 'aborted':
        case 'ready':
          return stay();
        case 'ack':
        case 'nack':
        case 'started':
        case 'finished':
        case 'error':
        case 'crashed':
        case 'output':
          return rehab(`it sent ${message.type} while idle`);
      }
  }
}

function broken(owner: Owner, status: 'up' | 'down', jobLive: boolean): string | null {
  if (status === 'up' && owner.kind === 'down') return 'it was up, but nobody owned it';
  if (status === 'down' && owner.kind !== 'down') return `it was down, but owned by ${owner.kind}`;
  if (owner.kind === 'job' && !jobLive) return 'it was owned by a job that is over';
  return null;
}

function restartReason(end: RestartEnd): string {
  switch (end) {
    case 'clean':
      return 'its agent was restarted';
    case 'crash':
      return 'its agent crashed and came back';
    case 'reinstalled':
      return 'it was reinstalled';
  }
}
