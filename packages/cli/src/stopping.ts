import type { World } from './world.js';

/** Resolves when the process is told to end. A second signal ends it at once, as the system does by default. */
export function toldToStop(world: Pick<World, 'onSignal'>): Promise<void> {
  return new Promise((resolve) => {
    const done = world.onSignal(['SIGINT', 'SIGTERM'], () => {
      done();
      resolve();
    });
  });
}

interface Running {
  /** Resolves when it cannot go on. */
  readonly failed: Promise<Error>;
  stop(): Promise<void>;
}

/** Stops it when `told` resolves. @throws what it failed with, if that comes first */
export async function runUntil(told: Promise<void>, running: Running): Promise<void> {
  const failure = await Promise.race([told, running.failed]);
  if (failure === undefined) return running.stop();
  // What cannot go on may not stop cleanly either; why it failed is what the reader needs.
  await running.stop().catch(() => undefined);
  throw failure;
}
