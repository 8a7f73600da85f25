import type { Organization } from '../types.js';

/** A user who is signed in to the console, in one browser. */
export interface Session {
  readonly id: string;
  /** SHA-256 of its secret, which the browser has in a cookie. */
  readonly hash: string;
  readonly principalId: string;
  /** Of the user. */
  readonly name: string;
  /** Where the user signed in: requests go there whose paths name none. */
  readonly organization: Organization;
  /** It stands on a sign-in at an issuer, which is good in that organization alone. */
  readonly signedIn: boolean;
  /** As it is stored: some time after the fact. */
  readonly lastSeen: number;
  readonly expiresAt: number;
}

/** A link that signs a user in, once. */
export interface Link {
  readonly principalId: string;
  readonly name: string;
  readonly organization: Organization;
  /** What it was made with: the session ends with that. */
  readonly proof: Proof;
  /** When that ends by itself; null: it does not. */
  readonly proofEnds: number | null;
  readonly expiresAt: number;
}

/** What a session stands on: a key of the user, by its fingerprint, or an access token, by its hash. */
export type Proof =
  | { readonly kind: 'key'; readonly fingerprint: string }
  | { readonly kind: 'token'; readonly hash: string };

/** How somebody signed in. */
export type SignedInBy = 'link' | 'token' | 'password' | 'provider';

export interface SessionView {
  readonly id: string;
  readonly user: string;
  readonly by: SignedInBy;
  readonly address: string | null;
  readonly createdAt: number;
  readonly lastSeen: number;
  readonly expiresAt: number;
}
