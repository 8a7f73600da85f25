import { type Recorder, readOwnEvent } from '@muster/platform/log';

/** What is told from now on by events whose type begins so: the type, and the attributes of these names. */
export function toldOf(recorder: Recorder, prefix: string, ...names: readonly string[]): readonly string[] {
  const told: string[] = [];
  recorder.onStored((events) => {
    for (const { recorded } of events) {
      const { type, attributes } = readOwnEvent(recorded);
      if (type.startsWith(prefix)) told.push([type, ...names.map((name) => attributes[name])].join(' '));
    }
  });
  return told;
}
