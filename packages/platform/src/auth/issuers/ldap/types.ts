import type { SignInRules } from '../rules.js';

/** A directory (LDAP) where people sign in with their password, and what is asked of it. */
export interface LdapSettings extends SignInRules {
  /** As whom it is asked. The password stands sealed beside. */
  readonly bindDn: string;
  /** PEM of the authorities that may have signed its certificate; null: those of the system. */
  readonly ca: string | null;
  /** Below which entry users are looked for, and by which filter: `{user}` is the name that was typed, or the one here. */
  readonly userBase: string;
  readonly userFilter: string;
  /** Below which entry groups are looked for; null: the entry of a user says them (`memberOf`). */
  readonly groupBase: string | null;
  /** `{dn}` is the name of the user's entry, `{user}` the user's name here. */
  readonly groupFilter: string;
}

/** Where a directory is, and how it is spoken to. */
export interface LdapPlace extends Pick<LdapSettings, 'ca'> {
  /** `ldaps://`, or `ldap://`: then with StartTLS, and never without. */
  readonly url: string;
}

/** The attribute with the name of a user, unless an issuer says otherwise. */
export const NAME_ATTRIBUTE = 'uid';

export const LDAP_LIMITS = {
  /** Characters of a filter or a distinguished name, and of a password. */
  text: 2048,
  password: 1024,
  /** Of the certificates of its authorities. */
  ca: 65_536,
  /** Until it is connected to, and until one question is answered. */
  connectMs: 5000,
  answerMs: 10_000,
  /** Of all that is asked about one person who signs in. */
  signInMs: 15_000,
  /** Bytes of one answer. */
  answerBytes: 16_777_216,
  /** Groups of one user that it may tell, in pages of so many. */
  groups: 10_000,
  pageSize: 500,
  /** Conversations of people who sign in, of one server at once. */
  atOnce: 20,
  /** From one look at all who have signed in to the next. */
  syncMs: 300_000,
  /** Users that are read from the database at once. */
  syncPage: 500,
  /** When it knows nobody of more than so many any more, and most of them, it is the directory that is wrong. */
  goneAtOnce: 10,
} as const;
