import { ManualClock } from '@muster/base';
import { stepJob } from '../../src/machine.js';
import type { PhaseContext } from '../../src/phases/context.js';
import type { Change } from '../../src/repository/job-store.js';
import type { Job } from '../../src/types.js';
import { pause, pauseOr } from '../../src/worker/pause.js';
import { newJob } from './jobs.js';
import { PlayedSystems } from './played-systems.js';
import { newApp } from './worker-fixture.js';

/** What a phase works with, on a job that is kept in memory. */
export class PlayedContext {
  readonly clock = new ManualClock();
  readonly systems = new PlayedSystems();
  readonly controller = new AbortController();
  readonly changes: Change[] = [];
  readonly notes: Partial<Job>[] = [];
  readonly told: string[] = [];
  readonly logged: string[] = [];
  app = newApp();
  job: Job;
  again = false;

  constructor(given: Partial<Job>) {
    this.systems.add('hpc1');
    this.systems.add('store');
    const workPath = `${this.systems.get('hpc1').system.root}/work/jdoe/job-j1-demo`;
    this.job = newJob('j1', { workPath, accepted: this.clock.now(), ...given });
  }

  get context(): PhaseContext {
    const played = this;
    const { clock, systems, controller } = this;
    const { signal } = controller;
    const note = (_details: object, message: string): void => void this.logged.push(message);
    return {
      get job() {
        return played.job;
      },
      again: this.again,
      signal,
      systems,
      clock,
      apps: { find: async () => this.app },
      places: {
        defaultSystem: async () => 'store',
        systemAt: async (_org, { host }) => (host === 'known' ? 'store' : null),
      },
      web: { open: () => Promise.reject(new Error('no web here')) },
      log: { debug: note, info: note, warn: note, error: note },
      change: async (change) => {
        const next = stepJob(this.job, change, clock.now());
        if ('refused' in next) throw new Error(`${this.job.status} to ${change.to}`);
        this.changes.push(change);
        this.job = { ...this.job, ...change.patch, ...next };
      },
      note: async (patch) => {
        this.notes.push(patch);
        this.job = { ...this.job, ...patch };
      },
      tell: async (event, description) => void this.told.push(`${event}: ${description}`),
      wait: (ms) => pause(clock, ms, signal),
      waitOr: (ms, begin) => pauseOr(clock, ms, signal, begin),
      mayAct: () => signal.throwIfAborted(),
      launchTurn: async () => undefined,
    };
  }

  /** With something else in the place of what is played. */
  with(given: Partial<PhaseContext>): PhaseContext {
    return Object.defineProperties(this.context, Object.getOwnPropertyDescriptors(given)) as PhaseContext;
  }

  close(): Promise<void> {
    return this.systems.close();
  }
}
