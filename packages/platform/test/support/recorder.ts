import type { Clock } from '@muster/base';
import type { Store } from '@muster/store';
import { Recorder } from '../../src/log/recorder.js';

/** What records events in this store. There may be only one at a time: it hands out the positions. */
export async function openRecorder(
  store: Store,
  clock: Clock,
  failed: (error: unknown) => void = (error) => {
    throw error;
  },
): Promise<Recorder> {
  const recorder = new Recorder({ store, clock, maxSize: 4096, failed, organizationName: async () => null });
  await recorder.load();
  return recorder;
}
