/** The secret of a link for signing in, from the part of the URL that is sent to no server. */
const FRAGMENT = /^#sign-in=([A-Za-z0-9_.~-]{8,512})$/;

/** Why a browser that has come back from a provider was not signed in: a code of the error table. */
const FAILED = /^#sign-in-failed=([a-z_]{1,64})$/;

/** Null: the page was not opened by such a link. */
export function secretOf(hash: string): string | null {
  return FRAGMENT.exec(hash)?.[1] ?? null;
}

/** Null: nobody has come back in vain. */
export function failureOf(hash: string): string | null {
  return FAILED.exec(hash)?.[1] ?? null;
}
