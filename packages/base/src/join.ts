import type { Duplex } from 'node:stream';

/** Passes on what each says to the other, no more than that one takes. When either has ended, both have. */
export function join(one: Duplex, other: Duplex): void {
  const ended = (): void => {
    one.destroy();
    other.destroy();
  };
  for (const end of [one, other]) end.on('error', ended).on('close', ended);
  if (one.destroyed || other.destroyed) return ended();
  one.pipe(other);
  other.pipe(one);
}
