import { type ApiClient, SIGNED_QUERY } from './api-client.js';
import { until } from './until.js';

export interface NodeState {
  readonly node_name: string;
  readonly status: string;
  readonly availability: string;
}

export interface JobView {
  readonly id: string;
  readonly command: string;
  readonly status: string;
  readonly nodes: Readonly<Record<string, readonly string[]>>;
  readonly [key: string]: unknown;
}

const FINISHED = new Set(['complete', 'quorum_failed', 'timed_out', 'aborted', 'crashed']);

/** Whether this is how a job stays (decision N5). */
export function isFinished(job: Pick<JobView, 'status'>): boolean {
  return FINISHED.has(job.status);
}

/** Longest that a failed test is cleaned up after. */
const SETTLED_MS = 60_000;

/** Those that tests have started and not stopped. */
const running = new Set<PushyServer>();

/** After a test that failed: `PushyServer.settle` of all that run. What went wrong with it. */
export async function settleServers(since: Date): Promise<readonly string[]> {
  const end = Date.now() + SETTLED_MS;
  const settled = await Promise.allSettled([...running].map((server) => server.settle(since, end)));
  return settled.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : []));
}

/** What tests ask of a running server over its REST API. */
export abstract class PushyServer {
  protected constructor() {
    running.add(this);
  }

  /** Signs as an admin of the organization `default`. */
  abstract get api(): ApiClient;

  async nodeState(name: string): Promise<NodeState | undefined> {
    const reply = await this.api.get(`pushy/node_states/${name}`);
    return reply.status === 200 ? (reply.json as NodeState) : undefined;
  }

  async nodeStates(): Promise<readonly NodeState[]> {
    return (await this.api.get('pushy/node_states?limit=20000', SIGNED_QUERY)).json as NodeState[];
  }

  /** Waits until this many nodes are as wanted. */
  async nodesAre(
    count: number,
    what: string,
    wanted: (state: NodeState) => boolean,
    patienceMs?: number,
  ): Promise<void> {
    const right = async (): Promise<boolean> => (await this.nodeStates()).filter(wanted).length >= count;
    await until(`${count} nodes to be ${what}`, right, patienceMs);
  }

  async available(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.nodeAvailable(name, 30_000);
  }

  protected async nodeAvailable(name: string, patienceMs: number): Promise<void> {
    const available = async () => (await this.nodeState(name))?.availability === 'available';
    await until(`${name} to be available`, available, patienceMs);
  }

  async down(name: string): Promise<void> {
    await until(`${name} to be down`, async () => (await this.nodeState(name))?.status === 'down');
  }

  async startJob(body: Readonly<Record<string, unknown>>): Promise<string> {
    const reply = await this.api.post('pushy/jobs', body);
    if (reply.status !== 201) throw new Error(`POST jobs: ${reply.status} ${reply.text}`);
    return (reply.json as { id: string }).id;
  }

  async job(id: string): Promise<JobView> {
    const reply = await this.api.get(`pushy/jobs/${id}`);
    if (reply.status !== 200) throw new Error(`GET job ${id}: ${reply.status} ${reply.text}`);
    return reply.json as JobView;
  }

  /** The job, once it has this status. */
  async jobIs(id: string, status: string): Promise<JobView> {
    let last: JobView | undefined;
    return until(`job ${id} to be ${status}`, async () => {
      last = await this.job(id);
      if (last.status !== status) throw new Error(JSON.stringify(last));
      return last;
    });
  }

  /** The job, once it has ended in whatever way. */
  async jobEnds(id: string, patienceMs?: number): Promise<JobView> {
    const finished = async (): Promise<JobView> => {
      const job = await this.job(id);
      if (!isFinished(job)) throw new Error(JSON.stringify(job));
      return job;
    };
    return until(`job ${id} to end`, finished, patienceMs);
  }

  /**
   * Ends the jobs that were started since then, so that they keep no node from others; what runs since before the test is something
   * that its followers need, too. Until `end`, in milliseconds.
   */
  async settle(since: Date, end: number): Promise<void> {
    const reply = await this.api.get(`pushy/jobs?created_after=${since.toISOString()}&limit=1000`, SIGNED_QUERY);
    if (reply.status !== 200) throw new Error(`GET jobs: ${reply.status} ${reply.text}`);
    const left = (reply.json as JobView[]).filter((job) => !isFinished(job));
    for (const { id } of left) await this.api.put(`pushy/jobs/${id}/abort`);
    for (const { id } of left) await this.jobEnds(id, end - Date.now());
  }

  /** It is to be stopped. */
  protected forget(): void {
    running.delete(this);
  }

  /** The job, once this node has this status in it. */
  async nodeIs(id: string, node: string, status: string): Promise<JobView> {
    return until(`${node} to be ${status} in ${id}`, async () => {
      const job = await this.job(id);
      if (!job.nodes[status]?.includes(node)) throw new Error(JSON.stringify(job));
      return job;
    });
  }

  /** The job, once this many of its nodes have this status. */
  async nodeCountIn(id: string, status: string, count: number): Promise<JobView> {
    return until(`${count} nodes to be ${status} in ${id}`, async () => {
      const job = await this.job(id);
      if ((job.nodes[status]?.length ?? 0) !== count) throw new Error(JSON.stringify(job));
      return job;
    });
  }
}
