import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Cluster } from './cluster.js';
import type { LedgerJob, LedgerJobs } from './ledger-jobs.js';
import type { Random } from './random.js';
import { until } from './until.js';

/** Longest that a program runs, and longest until a job is cancelled. */
const LONGEST_SECONDS = 4;
const CANCEL_MS = 6000;
const ENDS = ['FINISHED', 'STOPPED', 'FAILED'];

interface Asked {
  readonly name: string;
  readonly cancelled: boolean;
  readonly id: Promise<string>;
  /** What is done about it besides. */
  readonly done: Promise<unknown>;
}

/**
 * Jobs that are submitted while things are killed: of ten, one would never end by itself and is cancelled, and two are on a system
 * that is disabled until `open`, where they are blocked.
 */
export class LedgerLoad {
  readonly #cluster: Cluster;
  readonly #jobs: LedgerJobs;
  readonly #random: Random;
  readonly #asked: Asked[] = [];

  private constructor(cluster: Cluster, jobs: LedgerJobs, random: Random) {
    this.#cluster = cluster;
    this.#jobs = jobs;
    this.#random = random;
  }

  static async begin(cluster: Cluster, jobs: LedgerJobs, random: Random): Promise<LedgerLoad> {
    expect((await cluster.muster('system', 'disable', 'other')).code).toBe(0);
    return new LedgerLoad(cluster, jobs, random);
  }

  /** Submits more, until there are so many; they are accepted sooner or later. */
  grow(count: number): void {
    while (this.#asked.length < count) this.#ask(this.#asked.length);
  }

  /** All are accepted, and those cancelled that are to be. */
  async accepted(): Promise<readonly string[]> {
    const ids = await Promise.all(this.#asked.map(({ id }) => id));
    await Promise.all(this.#asked.map(({ done }) => done));
    return ids;
  }

  /** Lets the blocked ones go on, and waits until each has ended. */
  async ended(patienceMs: number): Promise<void> {
    let left = await this.accepted();
    const isBlocked = async (id: string): Promise<boolean> => (await this.#jobs.find(id)).status === 'BLOCKED';
    await until('a job to be blocked', async () => (await Promise.all(left.map(isBlocked))).includes(true), patienceMs);
    expect((await this.#cluster.muster('system', 'enable', 'other')).code).toBe(0);
    const look = async (): Promise<boolean> => {
      const found = await Promise.all(left.map((id) => this.#jobs.find(id)));
      const open = found.filter(({ status }) => !ENDS.includes(status));
      left = open.map(({ id }) => id);
      if (open.some(({ status }) => status === 'BLOCKED')) await this.#testNow();
      if (open.length === 0) return true;
      throw new Error(
        open.map(({ id, status, lastStatusMessage }) => `${id} ${status} ${lastStatusMessage}`).join('\n'),
      );
    };
    await until('all jobs to end', look, patienceMs);
  }

  /** Each has ended as it should, its program ran once, and what it made is whole. @returns how it was */
  async expectAll(): Promise<Readonly<Record<string, unknown>>> {
    const ids = await this.accepted();
    const runs = this.#jobs.runs();
    expect([...runs].filter(([, times]) => times > 1)).toEqual([]);
    let blocked = 0;
    for (const [n, { name, cancelled }] of this.#asked.entries()) {
      const job = await this.#jobs.find(ids[n] ?? '');
      await this.#expectOne(job, name, cancelled);
      blocked += job.blockedCount;
    }
    expect(blocked).toBeGreaterThan(0);
    const { refusals } = this.#jobs;
    expect([...refusals].filter((refusal) => !refusal.startsWith('503 '))).toEqual([]);
    // A command to a job that nobody has is heard by nobody; what is asked is stored before.
    const strays = await this.#cluster.json<{ exchange: string }[]>('dead-letter', 'list');
    expect(strays.filter(({ exchange }) => exchange !== 'aloe.jobq.default.cmd.Exchange')).toEqual([]);
    expect(await this.#cluster.json('recovery', 'list')).toEqual([]);
    return { jobs: ids.length, programs: runs.size, blocked, refusals: [...refusals] };
  }

  async #expectOne(job: LedgerJob, name: string, cancelled: boolean): Promise<void> {
    const { id, status, lastStatusMessage } = job;
    expect([job.name, status], lastStatusMessage).toEqual([name, cancelled ? 'STOPPED' : 'FINISHED']);
    this.#jobs.expectLegal(id, await this.#jobs.history(id));
    if (cancelled) return;
    expect(this.#jobs.runs().get(id), `${name} ${id}`).toBe(1);
    this.#jobs.expectKept(job);
  }

  #ask(n: number): void {
    const name = `j${n}`;
    const cancelled = n % 10 === 9;
    const hold = cancelled ? join(this.#cluster.dir, 'never') : this.#random.below(LONGEST_SECONDS * 10) / 10;
    const { systems } = this.#jobs;
    const anyTime = systems[n % systems.length];
    const id = this.#jobs.submit({ name, hold, system: n % 5 === 3 ? 'other' : anyTime });
    const done = cancelled ? this.#cancel(id, this.#random.below(CANCEL_MS)) : id;
    // What fails is heard of at the end.
    done.catch(() => undefined);
    this.#asked.push({ name, cancelled, id, done });
  }

  async #cancel(id: Promise<string>, afterMs: number): Promise<void> {
    const known = await id;
    await moment(afterMs);
    await this.#jobs.cancel(known);
  }

  /** What jobs wait for is tested now, and not in a minute. */
  async #testNow(): Promise<void> {
    const records = (await this.#cluster.api.get('job-recovery')).json as readonly { readonly id: string }[];
    for (const { id } of records) await this.#cluster.api.post(`job-recovery/${id}/test-now`, undefined);
  }
}
