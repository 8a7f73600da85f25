import type { RestartEnd } from '@muster/nodes';
import {
  type Before,
  type Fixture,
  type FixtureOptions,
  type Parts,
  startNodes,
} from '../../../nodes/test/support/nodes-fixture.js';
import { Ownership } from '../../src/ownership/ownership.js';
import type { OwningJobs, PushMessage } from '../../src/ownership/types.js';

/** What jobs were told, as text. */
export class RecordingJobs implements OwningJobs {
  readonly told: string[] = [];
  readonly live = new Set<string>();
  message(jobId: string, node: string, message: PushMessage): void {
    this.told.push(`${jobId} ${node} ${message.type}`);
  }
  heartbeat(jobId: string, node: string, report: { jobId: string | null }): void {
    this.told.push(`${jobId} ${node} heartbeat ${report.jobId}`);
  }
  down(jobId: string, node: string): void {
    this.told.push(`${jobId} ${node} down`);
  }
  free(jobId: string, node: string): void {
    this.told.push(`${jobId} ${node} free`);
  }
  restarted(jobId: string, node: string, end: RestartEnd): void {
    this.told.push(`${jobId} ${node} restarted ${end}`);
  }
  isLive(jobId: string): boolean {
    return this.live.has(jobId);
  }
}

/** The nodes layer with the ownership of nodes on it. */
export interface OwnedFixture extends Omit<Fixture, 'crash' | 'restart'> {
  readonly owners: Ownership;
  readonly jobs: RecordingJobs;
  crash(): Promise<OwnedFixture>;
  restart(loaded?: Loaded): Promise<OwnedFixture>;
}

/** Called when owners are loaded, before the sockets are open. */
type Loaded = (owners: Ownership, parts: Parts) => void | Promise<void>;

export function startOwned(loaded?: Loaded, options: FixtureOptions = {}): Promise<OwnedFixture> {
  return own((before) => startNodes({ ...options, before }), loaded);
}

async function own(start: (before: Before) => Promise<Fixture>, loaded?: Loaded): Promise<OwnedFixture> {
  const jobs = new RecordingJobs();
  let owners: Ownership | null = null;
  const fixture = await start(async (parts) => {
    owners = new Ownership({ ...parts, nodes: parts.nodes.registry, incarnation: 'server-1' });
    owners.attach(jobs);
    await owners.load();
    await loaded?.(owners, parts);
  });
  if (owners === null) throw new Error('the nodes were not loaded');
  return {
    ...fixture,
    owners,
    jobs,
    crash: () => own((before) => fixture.crash(before)),
    restart: (next) => own((before) => fixture.restart(before), next),
  };
}
