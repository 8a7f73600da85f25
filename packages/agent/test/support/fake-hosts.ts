import type { Stream, TaskRef } from '@muster/wire';
import type { HostEvents, TaskHosts } from '../../src/tasks/hosts.js';
import { attemptKey } from '../../src/tasks/key.js';
import type { Plugin } from '../../src/tasks/plugins.js';
import type { HeldAttempt, RunOrder } from '../../src/tasks/protocol.js';

/** Hosts whose tasks fare as the test tells it. */
export class FakeHosts implements TaskHosts {
  readonly events: HostEvents;
  readonly orders: RunOrder[] = [];
  /** What was asked of them besides, in order. */
  readonly asked: string[] = [];
  /** What an earlier agent left. */
  found: readonly HeldAttempt[] = [];
  finding: Promise<void> = Promise.resolve();

  constructor(events: HostEvents) {
    this.events = events;
  }

  async find(): Promise<void> {
    await this.finding;
    for (const held of this.found) this.events.held(held);
  }

  run(order: RunOrder): void {
    this.orders.push(order);
  }

  kill(ref: TaskRef): void {
    this.asked.push(`kill ${attemptKey(ref)}`);
  }

  settle(ref: TaskRef): void {
    this.asked.push(`settle ${attemptKey(ref)}`);
  }

  stored(ref: TaskRef, stream: Stream, offset: number): void {
    this.asked.push(`stored ${attemptKey(ref)} ${stream} ${offset}`);
  }

  rewind(): void {
    this.asked.push('rewind');
  }

  destroy(ref: TaskRef): void {
    this.asked.push(`destroy ${attemptKey(ref)}`);
  }

  configured(plugins: readonly Plugin[]): void {
    this.asked.push(`configured ${plugins.map(({ name }) => name).join(' ')}`);
  }

  close(): void {
    this.asked.push('close');
  }

  get running(): string[] {
    return this.orders.map(({ task }) => task.id);
  }
}
