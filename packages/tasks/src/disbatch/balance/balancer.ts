import { type Clock, every, type Timer } from '@muster/base';
import type { Organization } from '@muster/platform/auth';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import type { By, QueueView, TaskController } from '../../ports.js';
import { DISBATCH_LIMITS } from '../limits.js';
import { balances } from '../reads.js';
import { saveBalance } from '../writes.js';
import type { BalanceDocument, BalanceStatus } from './document.js';
import { type LocalTime, mostTasks, sharedThreads } from './shares.js';

export interface BalancerDeps {
  readonly store: Pick<Store, 'read' | 'commit'>;
  readonly clock: Clock;
  readonly controller: Pick<TaskController, 'queues' | 'changeQueue'>;
  readonly logger: Pick<LayerLog, 'info' | 'warn'>;
  /** Undefined: it is being deleted. */
  readonly organization: (id: string) => Promise<Organization | undefined>;
  /** Works out what it would do, and does nothing. */
  readonly pretend: boolean;
  /** What the clock shows where the server is. */
  readonly localTime?: (ms: number) => LocalTime;
}

const BALANCER: By = { identity: { type: 'service', name: 'queuebalance', principalId: 'queuebalance' } };

/** Shares out the threads of each organization that has a plan, every 30 seconds (sheet §6). */
export class Balancer {
  readonly #deps: BalancerDeps;
  #timer: Timer | null = null;
  #round: Promise<void> | null = null;

  constructor(deps: BalancerDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#timer = every(this.#deps.clock, DISBATCH_LIMITS.balanceMs, () => {
      // One that takes longer is not joined by another.
      this.#round ??= this.#again();
    });
    this.#round ??= this.#again();
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    await this.#round;
  }

  async #again(): Promise<void> {
    try {
      await this.balance();
    } catch (error) {
      this.#deps.logger.warn({ err: error }, 'queues could not be balanced; it is tried again');
    } finally {
      this.#round = null;
    }
  }

  /** One round. @throws MusterError `store_unavailable` */
  async balance(): Promise<void> {
    for (const { org_id: id, document } of await balances(this.#deps.store.read)) {
      const organization = await this.#deps.organization(id);
      if (organization !== undefined) await this.#balanceOne(organization, JSON.parse(document) as BalanceDocument);
    }
  }

  async #balanceOne(organization: Organization, document: BalanceDocument): Promise<void> {
    const { store, clock } = this.#deps;
    const now = Math.floor(clock.now() / 1000);
    const waits = document.disabled !== null && document.disabled > now;
    const status: Omit<BalanceStatus, 'timestamp'> = waits
      ? {
          status: 'OK',
          message: `QueueBalance disabled until ${new Date((document.disabled ?? 0) * 1000).toISOString()}`,
        }
      : await this.#share(organization, document);
    const after: BalanceDocument = {
      ...document,
      ...status,
      timestamp: now,
      disabled: waits ? document.disabled : null,
    };
    await store.commit([saveBalance({ org_id: organization.id, document: JSON.stringify(after) })]);
  }

  async #share(organization: Organization, plan: BalanceDocument): Promise<Omit<BalanceStatus, 'timestamp'>> {
    const { clock, controller, localTime = localTimeOf } = this.#deps;
    const most = mostTasks(plan, localTime(clock.now()));
    if (most === null) return { status: 'WARNING', message: 'max_tasks is empty: nothing is balanced' };
    const queues = new Map(controller.queues(organization.id).map((queue) => [queue.name, queue]));
    const groups = plan.queues.map((group) => group.filter((name) => queues.has(name)));
    const loads = new Map([...queues].map(([name, queue]) => [name, loadOf(queue)]));
    for (const [name, threads] of sharedThreads(groups, loads, most)) {
      const queue = queues.get(name);
      if (queue !== undefined && queue.threads !== threads) await this.#set(organization, queue, threads);
    }
    const missing = plan.queues.flat().filter((name) => !queues.has(name));
    if (missing.length === 0) return { status: 'OK', message: 'QueueBalance is running' };
    return { status: 'WARNING', message: `QueueBalance is running, but there is no queue ${missing.join(', ')}` };
  }

  async #set(
    organization: Organization,
    { id, name, threads: before, state }: QueueView,
    threads: number,
  ): Promise<void> {
    const { controller, logger, pretend } = this.#deps;
    logger.info({ organization: organization.name, queue: name, before, threads, pretend }, 'queue balanced');
    if (pretend) return;
    // One that was never set to run waits for just this; one that somebody has paused stays so.
    const opened = state === 'paused' && before === null ? { state: 'open' as const } : {};
    await controller.changeQueue(organization, id, { threads, ...opened }, BALANCER);
  }
}

function loadOf({ counts }: QueueView) {
  return { queued: counts.queued, running: counts.claimed + counts.running };
}

function localTimeOf(ms: number): LocalTime {
  const date = new Date(ms);
  return { day: date.getDay(), minute: date.getHours() * 60 + date.getMinutes() };
}
