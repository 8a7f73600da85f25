import { setTimeout as sleep } from 'node:timers/promises';
import { named } from '@muster/base';
import { type Job, mayStillRun, type NodeState, type PushJobNodeStatus } from '../../api.js';
import { PAGE_SIZE, STOPPING_LOOK_MS, STOPPING_PATIENCE_MS } from '../../limits.js';
import { printable } from '../../printable.js';
import type { Call } from '../../shell.js';

/** `GET …/nodes`, of a node that takes no jobs. */
interface TakenNode extends Pick<NodeState, 'node_name'> {
  readonly owner: 'down' | 'rehab' | 'idle' | 'job';
  readonly job_id?: string;
}

const NODES_NAMED = 10;

/**
 * Waits until no node kills a command of this job any more. An aborted job is over once its nodes have acknowledged the
 * abort; a command that takes its time to die keeps its node in rehab until it is gone (Push Jobs §5.7 Terminating).
 * False when a node still had not stopped after `STOPPING_PATIENCE_MS`, which is said.
 */
export async function nodesStopped(call: Call<object>, job: Job): Promise<boolean> {
  const concerned = new Set(
    Object.entries(job.nodes ?? {}).flatMap(([status, names]) =>
      mayStillRun(status as PushJobNodeStatus) ? names : [],
    ),
  );
  if (concerned.size === 0) return true;
  const since = call.world.now();
  for (let looks = 0; ; looks++) {
    const taken = (await takenNodes(call)).filter((node) => concerned.has(node.node_name));
    const stopping = taken.filter(({ owner, job_id }) => owner === 'rehab' || (owner === 'job' && job_id === job.id));
    if (stopping.length === 0) {
      const down = taken.filter(({ owner }) => owner === 'down');
      if (down.length > 0) call.out.note(`down, so what still runs there is not known: ${namesOf(down)}`);
      return true;
    }
    if (call.world.now() - since >= STOPPING_PATIENCE_MS) {
      const minutes = STOPPING_PATIENCE_MS / 60_000;
      const [first] = stopping;
      const why = `muster node why ${printable(first?.node_name ?? '')}`;
      call.out.note(`not stopped after ${minutes} minutes: ${namesOf(stopping)}   Why: ${why}`);
      return false;
    }
    if (looks === 0) call.out.note(`waiting until the command has stopped: ${namesOf(stopping)}`);
    await sleep(STOPPING_LOOK_MS);
  }
}

/** All nodes that take no jobs, in one request for every thousand. */
async function takenNodes(call: Call<object>): Promise<TakenNode[]> {
  const nodes: TakenNode[] = [];
  for (let after: string | undefined; ; ) {
    const query = { q: "availability = 'unavailable'", limit: PAGE_SIZE, after };
    const page = await call.client.get<{ readonly nodes: readonly TakenNode[] }>(call.client.inOrg('nodes'), query);
    nodes.push(...page.nodes);
    const last = page.nodes.at(-1);
    if (last === undefined || page.nodes.length < PAGE_SIZE) return nodes;
    after = last.node_name;
  }
}

function namesOf(nodes: readonly TakenNode[]): string {
  return named(
    nodes.map((node) => printable(node.node_name)),
    NODES_NAMED,
  );
}
