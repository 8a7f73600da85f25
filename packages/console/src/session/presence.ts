/** A session ends when its user does nothing for 30 minutes; watching is one long connection, of which the server cannot tell. */
const TELL_EVERY_MS = 5 * 60_000;
const ACTS = ['pointerdown', 'keydown', 'wheel'] as const;

/**
 * Tells that somebody is there who reads and scrolls, once in a while, and only while they do.
 * @returns how to stop it.
 */
export function whilePresent(
  page: EventTarget,
  tell: () => void,
  now: () => number = () => performance.now(),
): () => void {
  let told = now();
  const act = (): void => {
    if (now() - told < TELL_EVERY_MS) return;
    told = now();
    tell();
  };
  for (const name of ACTS) page.addEventListener(name, act, { passive: true });
  return () => {
    for (const name of ACTS) page.removeEventListener(name, act);
  };
}
