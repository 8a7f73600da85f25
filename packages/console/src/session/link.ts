/** The secret of a link for signing in, from the part of the URL that is sent to no server. */
const FRAGMENT = /^#sign-in=([A-Za-z0-9_.~-]{8,512})$/;

/** Null: the page was not opened by such a link. */
export function secretOf(hash: string): string | null {
  return FRAGMENT.exec(hash)?.[1] ?? null;
}
