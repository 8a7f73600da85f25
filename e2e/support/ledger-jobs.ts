import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { expect } from 'vitest';
import { mayGo } from '../../packages/jobs/src/machine.js';
import { isStatus } from '../../packages/jobs/src/status.js';
import type { Reply } from './api-client.js';
import type { Cluster } from './cluster.js';
import type { JobHosts } from './job-hosts.js';

export interface LedgerJob {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly lastStatusMessage: string;
  readonly workPath: string | null;
  readonly archivePath: string | null;
  readonly blockedCount: number;
}

export interface NewLedgerJob {
  readonly name: string;
  /** So many seconds, or until this file is there. */
  readonly hold: number | string;
  readonly system?: string | undefined;
}

export const APP = 'ledger-1.0';
export const INPUT = 'agave://here/in/words.txt';
const PAUSE_MS = 100;

/** More than a pipe or a write takes at once. */
const WORDS = Array.from({ length: 40_000 }, (_, n) => `word ${n}\n`).join('');

/** Its first act is a line in the ledger: a program that is run twice is seen. */
const PROGRAM = `#!/bin/sh
echo "$MUSTER_JOB" >>"LEDGER"
case "$hold" in
  /*) until [ -e "$hold" ]; do sleep 0.05; done ;;
  *) sleep "$hold" ;;
esac
mkdir -p more && cp "$words" result.txt && cp "$words" more/again.txt && echo done
`;

/** Jobs on systems of this machine, and on hosts, if there are: an input is staged, a program runs that must run once, its output is archived. */
export class LedgerJobs {
  /** Answers that were no acceptance: `STATUS CODE`. */
  readonly refusals = new Set<string>();
  /** That run jobs at any time. */
  readonly systems: readonly string[];
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster, systems: readonly string[]) {
    this.#cluster = cluster;
    this.systems = systems;
  }

  /** With the systems `here`, the default one, and `other`, and those of the hosts. */
  static async prepare(cluster: Cluster, hosts?: JobHosts): Promise<LedgerJobs> {
    const remote = (await hosts?.register(cluster)) ?? [];
    const jobs = new LedgerJobs(cluster, ['here', ...remote]);
    mkdirSync(join(jobs.root('here'), 'in'), { recursive: true });
    mkdirSync(jobs.root('other'));
    writeFileSync(join(jobs.root('here'), 'in/words.txt'), WORDS);
    writeFileSync(join(cluster.dir, 'ledger.sh'), PROGRAM.replace('LEDGER', jobs.#ledger));
    for (const name of ['here', 'other']) {
      const system = { name, type: 'local', root: jobs.root(name), default: name === 'here' };
      await jobs.#made('systems/v2', system);
    }
    await jobs.#made('apps/v2', {
      name: 'ledger',
      version: '1.0',
      command: ['/bin/sh', join(cluster.dir, 'ledger.sh')],
      inputs: [{ id: 'words', value: { required: true } }],
      parameters: [{ id: 'hold', value: { type: 'string', default: '0' } }],
    });
    return jobs;
  }

  /** Where the files of a system are. */
  root(system: string): string {
    return join(this.#cluster.dir, system);
  }

  /** One that is accepted once, however often the server is killed meanwhile. */
  async submit({ name, hold, system = 'here' }: NewLedgerJob): Promise<string> {
    const body = {
      name,
      appId: APP,
      executionSystem: system,
      archivePath: `kept/${name}`,
      inputs: { words: INPUT },
      parameters: { hold: String(hold) },
    };
    const { api } = this.#cluster;
    const headers = { 'idempotency-key': name };
    const made = await this.#insisted(201, () => api.call('POST', api.path('jobs/v2'), { body, headers }));
    return (made.json as { result: LedgerJob }).result.id;
  }

  /** Until that is accepted: then it is never forgotten. */
  async cancel(id: string): Promise<void> {
    await this.#insisted(200, () => this.#cluster.api.post(`jobs/v2/${id}/cancel`, {}));
  }

  async find(id: string): Promise<LedgerJob> {
    return this.#read(`jobs/v2/${id}`);
  }

  /** How it came to be where it is. */
  async history(id: string): Promise<readonly string[]> {
    const entries = await this.#read<{ status: string }[]>(`jobs/v2/${id}/history?limit=1000`);
    return entries.map(({ status }) => status).filter(isStatus);
  }

  /** Each job that ran, as often as its program began. */
  runs(): ReadonlyMap<string, number> {
    const times = new Map<string, number>();
    const lines = existsSync(this.#ledger) ? readFileSync(this.#ledger, 'utf8').trimEnd().split('\n') : [];
    for (const id of lines) times.set(id, (times.get(id) ?? 0) + 1);
    return times;
  }

  /** Its output is where it is kept: whole, and nothing else. */
  expectKept({ id, name, archivePath }: LedgerJob): void {
    expect(archivePath).toBe(`kept/${name}`);
    const kept = join(this.root('here'), 'kept', name);
    const files = readdirSync(kept, { recursive: true }).map(String).sort();
    expect(files, id).toEqual([`${name}-${id}.err`, `${name}-${id}.out`, 'more', 'more/again.txt', 'result.txt']);
    expect(readFileSync(join(kept, `${name}-${id}.out`), 'utf8'), id).toBe('done\n');
    for (const file of ['result.txt', 'more/again.txt']) {
      expect(readFileSync(join(kept, file), 'utf8') === WORDS, `${id} ${file}`).toBe(true);
    }
  }

  /** Each step is one that the machine has, and it ends once. */
  expectLegal(id: string, history: readonly string[]): void {
    const statuses = history.filter(isStatus);
    expect(statuses[0], id).toBe('ACCEPTED');
    const wrong = statuses.slice(1).filter((to, at) => !mayGo(statuses[at] ?? 'ACCEPTED', to) || to === statuses[at]);
    expect(wrong, `${id}: ${statuses.join(' ')}`).toEqual([]);
  }

  get #ledger(): string {
    return join(this.#cluster.dir, 'ledger.txt');
  }

  async #made(path: string, body: unknown): Promise<void> {
    const made = await this.#cluster.api.post(path, body);
    expect(made.status, made.text).toBe(201);
  }

  async #read<T = LedgerJob>(path: string): Promise<T> {
    const reply = await this.#cluster.api.get(path, { version: '1.3', signQuery: true });
    expect(reply.status, reply.text).toBe(200);
    return (reply.json as { result: T }).result;
  }

  async #insisted(status: number, ask: () => Promise<Reply>): Promise<Reply> {
    for (;;) {
      // What is cut off is asked again: nothing is promised by then.
      const reply = await ask().catch(() => null);
      if (reply?.status === status) return reply;
      if (reply !== null) this.refusals.add(`${reply.status} ${reply.headers['x-muster-error']}`);
      await moment(PAUSE_MS);
    }
  }
}
