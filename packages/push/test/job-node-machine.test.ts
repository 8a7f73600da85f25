import { NOT_WAITING } from '@muster/wire';
import { describe, expect, it } from 'vitest';
import {
  type JobNode,
  type JobNodeContext,
  type JobNodeEffect,
  type JobNodeEvent,
  NEW_NODE,
} from '../src/machine/job-node.js';
import { stepNode } from '../src/machine/job-node-machine.js';

const voting: JobNodeContext = { phase: 'voting', ending: null, now: 1000, repeatable: true };
const running: JobNodeContext = { ...voting, phase: 'running' };
const aborting: JobNodeContext = { ...voting, phase: 'aborting', ending: 'aborted' };
const timingOut: JobNodeContext = { ...voting, phase: 'aborting', ending: 'timed_out' };
const deployed = (context: JobNodeContext): JobNodeContext => ({ ...context, repeatable: false });

const unvoted = NEW_NODE;
const ready: JobNode = { ...NEW_NODE, status: 'ready' };
const starting: JobNode = { ...ready, starting: true };
const executing: JobNode = { ...NEW_NODE, status: 'running', startedAt: 500 };

const ok = { jobId: 'j', outcome: 'succeeded', exitCode: 0, signal: null, reason: null } as const;
const bad = { ...ok, outcome: 'failed', exitCode: 3 } as const;
const late = { ...ok, outcome: 'timed_out', exitCode: null, reason: 'limit' } as const;

/** Effects in one line each: `send start`, `release idle`, `quorum_vote success`, `rehab`. */
function told(effects: readonly JobNodeEffect[]): string[] {
  return effects.map((effect) => {
    switch (effect.type) {
      case 'send':
        return `send ${effect.message}`;
      case 'release':
        return `release ${effect.to}`;
      case 'announce':
        return 'status' in effect ? `${effect.name} ${effect.status}` : effect.name;
    }
  });
}

type Row = [string, JobNode, JobNodeContext, JobNodeEvent, string, string[]];

function rows(title: string, table: Row[]): void {
  describe(title, () => {
    it.each(table)('%s', (_name, node, context, event, status, effects) => {
      const step = stepNode(node, event, context);
      const standing = step.node.starting ? 'starting' : step.node.status;
      expect([standing, told(step.effects)]).toEqual([status, effects]);
    });
  });
}

const waits: JobNode = { ...NEW_NODE, waits: 'turn', reason: 'waits: busy with job b' };
const asked: JobNode = { ...NEW_NODE, waits: 'vote' };

rows('a busy node that is waited for', [
  ['is in the queue', unvoted, voting, { type: 'queued', reason: 'busy with job b' }, 'new', []],
  ['is asked when its turn has come', waits, voting, { type: 'claimed' }, 'new', ['send prepare']],
  ['and while the job runs', waits, running, { type: 'claimed' }, 'new', ['send prepare']],
  ['commits then', asked, running, { type: 'ack' }, 'ready', ['quorum_vote success']],
  ['or refuses', asked, running, { type: 'nack', reason: 'no' }, 'nacked', ['quorum_vote failure', 'release idle']],
  [
    'is refused for when it was waited for long enough',
    waits,
    running,
    { type: 'wait_over', seconds: 9 },
    'nacked',
    ['quorum_vote failure', 'release idle'],
  ],
  ['but not once it was asked', asked, running, { type: 'wait_over', seconds: 9 }, 'new', []],
  ['misses no vote of the others', waits, voting, { type: 'vote_expired' }, 'new', []],
  [
    'is out when it goes down',
    waits,
    voting,
    { type: 'down', reason: 'down' },
    'unavailable',
    ['quorum_vote down', 'rehab', 'release rehab'],
  ],
  [
    'is out after too many failures',
    waits,
    running,
    { type: 'not_started', reason: 'x' },
    'unavailable',
    ['release rehab'],
  ],
  [
    'is out with the job',
    waits,
    aborting,
    { type: 'abort', ending: 'aborted', reason: 'x' },
    'unavailable',
    ['release rehab'],
  ],
]);

it('a node that is waited for says for what, until it is asked', () => {
  const queued = stepNode(unvoted, { type: 'queued', reason: 'busy with job b' }, voting).node;
  expect(queued).toEqual(waits);
  expect(stepNode(queued, { type: 'claimed' }, voting).node).toEqual(asked);
  expect(stepNode(waits, { type: 'wait_over', seconds: 9 }, voting).node.reason).toBe(
    'busy with job b; not free within 9 s',
  );
});

rows('voting, node without a vote', [
  ['ack commits it', unvoted, voting, { type: 'ack' }, 'ready', ['quorum_vote success']],
  [
    'nack refuses for good and frees it',
    unvoted,
    voting,
    { type: 'nack', reason: 'busy' },
    'nacked',
    ['quorum_vote failure', 'release idle'],
  ],
  [
    'down makes it unavailable',
    unvoted,
    voting,
    { type: 'down', reason: 'down' },
    'unavailable',
    ['quorum_vote down', 'rehab', 'release rehab'],
  ],
  [
    'a restart makes it unavailable',
    unvoted,
    voting,
    { type: 'restarted', how: 'crashed' },
    'unavailable',
    ['quorum_vote down', 'rehab', 'release rehab'],
  ],
  ['started is out of place: rehab', unvoted, voting, { type: 'started' }, 'unavailable', ['rehab', 'release rehab']],
  [
    'error is out of place: rehab',
    unvoted,
    voting,
    { type: 'error', reason: 'x' },
    'unavailable',
    ['rehab', 'release rehab'],
  ],
  [
    'a result is out of place: rehab',
    unvoted,
    voting,
    { type: 'finished', result: ok },
    'unavailable',
    ['rehab', 'release rehab'],
  ],
  [
    'down at the start: down in the vote, never claimed',
    unvoted,
    voting,
    { type: 'unclaimed', why: 'down', reason: 'down' },
    'unavailable',
    ['quorum_vote down', 'rehab'],
  ],
  [
    'busy with another job at the start: nacked',
    unvoted,
    voting,
    { type: 'unclaimed', why: 'busy', reason: 'busy with job x' },
    'nacked',
    ['quorum_vote failure'],
  ],
  ['permission denied: nacked (N13)', unvoted, voting, { type: 'denied' }, 'nacked', ['quorum_vote failure']],
  [
    'the voting timeout leaves room for a late vote (N9)',
    unvoted,
    voting,
    { type: 'vote_expired' },
    'new',
    ['quorum_vote voting_timeout'],
  ],
  [
    'the ack timeout gives it up',
    unvoted,
    voting,
    { type: 'ack_timeout', seconds: 5 },
    'unavailable',
    ['quorum_vote voting_timeout', 'release rehab'],
  ],
  [
    'a heartbeat without the offer repeats prepare',
    unvoted,
    voting,
    { type: 'heartbeat', report: 'absent' },
    'new',
    ['send prepare'],
  ],
  [
    'a heartbeat that waits for the start repeats prepare: the ack is lost',
    unvoted,
    voting,
    { type: 'heartbeat', report: 'waiting' },
    'new',
    ['send prepare'],
  ],
  [
    'a deployed client is not asked twice at its first heartbeat (N12)',
    unvoted,
    deployed(voting),
    { type: 'heartbeat', report: 'absent' },
    'new',
    [],
  ],
  [
    'a deployed client that is idle twice in a row has lost the offer',
    { ...unvoted, contradictions: 1 },
    deployed(voting),
    { type: 'heartbeat', report: 'absent' },
    'new',
    ['send prepare'],
  ],
  [
    'a deployed client that has committed twice in a row has voted',
    { ...unvoted, contradictions: 1 },
    deployed(voting),
    { type: 'heartbeat', report: 'waiting' },
    'ready',
    ['quorum_vote success'],
  ],
  ['a late ack while running makes it ready (N9)', unvoted, running, { type: 'ack' }, 'ready', ['quorum_vote success']],
  [
    'an abort makes it unavailable',
    unvoted,
    aborting,
    { type: 'abort', ending: 'aborted', reason: 'x' },
    'unavailable',
    ['release rehab'],
  ],
]);

rows('voting, ready node', [
  ['a repeated ack changes nothing (N12)', ready, voting, { type: 'ack' }, 'ready', []],
  [
    'a deployed client that commits twice is told so',
    ready,
    deployed(voting),
    { type: 'ack' },
    'ready',
    ['quorum_vote unexpected_commit'],
  ],
  [
    'nack after ack loses it',
    ready,
    voting,
    { type: 'nack', reason: 'changed my mind' },
    'unavailable',
    ['rehab', 'quorum_vote lost_availibility', 'release rehab'],
  ],
  [
    'down makes it unavailable',
    ready,
    voting,
    { type: 'down', reason: 'down' },
    'unavailable',
    ['quorum_vote down', 'rehab', 'release rehab'],
  ],
  [
    'error makes it unavailable (SSE-18)',
    ready,
    voting,
    { type: 'error', reason: 'x' },
    'unavailable',
    ['rehab', 'release rehab'],
  ],
  [
    'quorum failure leaves it was_ready',
    ready,
    voting,
    { type: 'abort', ending: 'quorum_failed', reason: 'x' },
    'was_ready',
    ['release rehab'],
  ],
]);

rows('running, ready node', [
  ['start is sent', ready, running, { type: 'start' }, 'starting', ['send start']],
  [
    'down before the start crashes it (E2E-18)',
    ready,
    running,
    { type: 'down', reason: 'down' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'nack crashes it',
    ready,
    running,
    { type: 'nack', reason: 'x' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'too many failures elsewhere leave it was_ready',
    ready,
    running,
    { type: 'not_started', reason: 'x' },
    'was_ready',
    ['release rehab'],
  ],
  [
    'the run timeout times it out',
    ready,
    running,
    { type: 'abort', ending: 'timed_out', reason: 'x' },
    'timed_out',
    ['release rehab'],
  ],
]);

rows('running, started node', [
  ['started confirms it', starting, running, { type: 'started' }, 'running', ['run_start']],
  [
    'error fails it (SSE-10)',
    starting,
    running,
    { type: 'error', reason: 'x' },
    'failed',
    ['rehab', 'run_complete run_nacked', 'release rehab'],
  ],
  [
    'one that forgot the offer, as its server was away for too long, is offered it again',
    starting,
    running,
    { type: 'heartbeat', report: 'absent' },
    'starting',
    ['send prepare'],
  ],
  [
    'one that is told to start what it has forgotten is offered it again',
    starting,
    running,
    { type: 'error', reason: NOT_WAITING },
    'starting',
    ['send prepare'],
  ],
  ['and is started when it waits for it again', starting, running, { type: 'ack' }, 'starting', ['send start']],
  [
    'one that refuses it then, as it began it before, has crashed',
    starting,
    running,
    { type: 'nack', reason: 'this job already ran here' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'a deployed client that forgot the offer may not have heard of the start yet',
    starting,
    deployed(running),
    { type: 'heartbeat', report: 'absent' },
    'starting',
    [],
  ],
  [
    'a deployed client that forgot the offer twice in a row has crashed',
    { ...starting, contradictions: 1 },
    deployed(running),
    { type: 'heartbeat', report: 'absent' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'a deployed client with nothing to start is failed',
    starting,
    deployed(running),
    { type: 'error', reason: NOT_WAITING },
    'failed',
    ['rehab', 'run_complete run_nacked', 'release rehab'],
  ],
  [
    'a result whose started was lost counts',
    starting,
    running,
    { type: 'finished', result: ok },
    'succeeded',
    ['run_start', 'run_complete success', 'release idle'],
  ],
  [
    'a deployed client may not skip started',
    starting,
    deployed(running),
    { type: 'finished', result: ok },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'a deployed client that says it runs has started',
    starting,
    deployed(running),
    { type: 'heartbeat', report: 'running' },
    'running',
    ['run_start'],
  ],
  [
    'a deployed client that waits at one heartbeat is not told twice to start',
    starting,
    deployed(running),
    { type: 'heartbeat', report: 'waiting' },
    'starting',
    [],
  ],
  [
    'a deployed client that waits twice in a row has lost its start',
    { ...starting, contradictions: 1 },
    deployed(running),
    { type: 'heartbeat', report: 'waiting' },
    'starting',
    ['send start'],
  ],
  [
    'a heartbeat still waiting repeats start',
    starting,
    running,
    { type: 'heartbeat', report: 'waiting' },
    'starting',
    ['send start'],
  ],
  [
    'success succeeds it',
    executing,
    running,
    { type: 'finished', result: ok },
    'succeeded',
    ['run_complete success', 'release idle'],
  ],
  [
    'failure fails it',
    executing,
    running,
    { type: 'finished', result: bad },
    'failed',
    ['run_complete failure', 'release idle'],
  ],
  [
    'its own time limit sends it to rehab until the command is gone',
    executing,
    running,
    { type: 'finished', result: late },
    'timed_out',
    ['run_complete timed_out', 'release rehab'],
  ],
  [
    'error while running fails it (SSE-12)',
    executing,
    running,
    { type: 'error', reason: 'x' },
    'failed',
    ['rehab', 'run_complete run_nacked_while_running', 'release rehab'],
  ],
  [
    'down crashes it',
    executing,
    running,
    { type: 'down', reason: 'down' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'a restart crashes it',
    executing,
    running,
    { type: 'restarted', how: 'agent restarted' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'nack crashes it (E2E-8)',
    executing,
    running,
    { type: 'nack', reason: 'x' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'aborting by itself crashes it',
    executing,
    running,
    { type: 'aborted', from: 'running', settled: true },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'a message for another job crashes it (E2E-11)',
    executing,
    running,
    { type: 'misbehaved', reason: 'x' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  ['a repeated started changes nothing', executing, running, { type: 'started' }, 'running', []],
  [
    'a heartbeat that knows the result asks for it again',
    executing,
    running,
    { type: 'heartbeat', report: 'ended' },
    'running',
    ['send start'],
  ],
  [
    'one heartbeat without the job is forgiven',
    executing,
    running,
    { type: 'heartbeat', report: 'absent' },
    'running',
    [],
  ],
  [
    'the second crashes it',
    { ...executing, contradictions: 1 },
    running,
    { type: 'heartbeat', report: 'absent' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
  [
    'the node timeout times it out and rehab aborts it',
    executing,
    running,
    { type: 'node_timeout', seconds: 9 },
    'timed_out',
    ['run_complete timed_out', 'release rehab'],
  ],
]);

rows('aborting', [
  [
    'a running node is told',
    executing,
    running,
    { type: 'abort', ending: 'aborted', reason: 'x' },
    'running',
    ['send abort'],
  ],
  [
    'aborted while running: aborted, rehab until it is gone',
    executing,
    aborting,
    { type: 'aborted', from: 'running', settled: false },
    'aborted',
    ['run_complete aborted', 'release rehab'],
  ],
  [
    'aborted before it ran: was_ready',
    starting,
    aborting,
    { type: 'aborted', from: 'waiting', settled: true },
    'was_ready',
    ['release idle'],
  ],
  [
    'aborted by the run timeout: timed_out',
    executing,
    timingOut,
    { type: 'aborted', from: 'running', settled: false },
    'timed_out',
    ['release rehab'],
  ],
  [
    'a result that was faster than the abort counts',
    executing,
    aborting,
    { type: 'finished', result: ok },
    'succeeded',
    ['run_complete success', 'release idle'],
  ],
  [
    'every heartbeat repeats the abort',
    executing,
    aborting,
    { type: 'heartbeat', report: 'running' },
    'running',
    ['send abort'],
  ],
  [
    'a heartbeat without the job may have crossed the abort: it is repeated',
    executing,
    aborting,
    { type: 'heartbeat', report: 'absent' },
    'running',
    ['send abort'],
  ],
  [
    'two heartbeats without the job: the answer was lost, the command is gone',
    { ...executing, contradictions: 1 },
    aborting,
    { type: 'heartbeat', report: 'ended' },
    'aborted',
    ['run_complete aborted', 'release rehab'],
  ],
  [
    'two heartbeats without the job before it was known to run: was_ready',
    { ...starting, contradictions: 1 },
    aborting,
    { type: 'heartbeat', report: 'absent' },
    'was_ready',
    ['release rehab'],
  ],
  [
    'the aborting timeout closes it',
    executing,
    aborting,
    { type: 'close', ending: 'aborted' },
    'aborted',
    ['release rehab'],
  ],
  [
    'down crashes it',
    executing,
    aborting,
    { type: 'down', reason: 'down' },
    'crashed',
    ['rehab', 'run_complete crashed', 'release rehab'],
  ],
]);
