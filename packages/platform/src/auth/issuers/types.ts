import type { Organization } from '../types.js';
import type { LdapSettings } from './ldap/types.js';
import type { SignInRules } from './rules.js';

export const ISSUER_KINDS = ['public_key', 'jwks', 'oidc', 'ldap'] as const;
export type IssuerKind = (typeof ISSUER_KINDS)[number];

/** Whose tokens are taken in an organization. */
export interface Issuer {
  readonly id: string;
  readonly organization: Organization;
  readonly name: string;
  readonly kind: IssuerKind;
  /** PEM of the key; where the set of keys is; where discovery begins; where the directory is. */
  readonly source: string;
  /** `iss` of its tokens; null: they need not have one. */
  readonly issuer: string | null;
  /** Must be among `aud` of its tokens; null: they may be for anybody. */
  readonly audience: string | null;
  /** Claim with the name of the user; null: that of WSO2, or else `sub`. Of a directory an attribute; null: `uid`. */
  readonly userClaim: string | null;
  /** What the tenant claim says, which its tokens must have then; null: the name of the organization, if they have one. */
  readonly tenant: string | null;
  /** null: nobody signs in there by an OpenID provider. */
  readonly signIn: SignIn | null;
  /** Of a directory, and of nothing else: what is asked there. */
  readonly ldap: LdapSettings | null;
  readonly createdAt: number;
}

/** How people sign in at an OpenID provider. */
export interface SignIn extends SignInRules {
  /** Of the command line and the console, as the provider knows it. */
  readonly clientId: string;
  /** The console proves itself by a secret when it redeems a code; otherwise it is a public client, as the command line always is. */
  readonly confidential: boolean;
  /** What the provider is asked for; `openid` is among it. */
  readonly scope: string;
  /** Claim with the groups of the user; null: groups are not looked at. */
  readonly groupsClaim: string | null;
}

export type NewIssuer = Omit<Issuer, 'id' | 'organization' | 'createdAt'>;

/** As somebody asks for it. */
export interface AskedIssuer extends NewIssuer {
  /** With which a directory is asked, or a confidential client proves itself. It is shown nobody. */
  readonly secret?: string;
}

export const ISSUER_LIMITS = {
  perOrganization: 20,
  /** Characters of a token. */
  token: 8192,
  /** How far clocks may differ, seconds. */
  skewSeconds: 60,
  /** Of one issuer. */
  keys: 50,
  /** Keys of a set are fetched again after this, and sooner when a token names one that is not known, but not more often. */
  keysMs: 600_000,
  refetchMs: 30_000,
  /** While they cannot be fetched the former ones are good for so long. */
  staleMs: 3_600_000,
  fetch: { bytes: 262_144, timeoutMs: 10_000 },
  /** Characters of the secret of a client. */
  clientSecret: 1024,
  /** Characters of roles. */
  roles: 4096,
  /** Values of a groups claim that mean a group here. */
  signInGroups: 100,
  /** Seconds that a sign-in lasts: when nobody says (8 h), at least, and at most (7 days). */
  signInTtl: { usual: 28_800, least: 60, most: 604_800 },
  /** A token to sign in with was issued so recently, seconds. */
  signInFreshSeconds: 600,
  /** How often somebody may be wrong: by name, and by address; names and addresses that are remembered. */
  attempts: {
    name: { perSecond: 1 / 60, burst: 5 },
    address: { perSecond: 1 / 2, burst: 50 },
    kept: 10_000,
  },
  /** A browser that was sent to a provider comes back within so long; so many of them are dealt with at once. */
  awayMs: 600_000,
  awayAtOnce: 20,
  /** Characters of the path where it goes then, and of each thing that it brings. */
  returnPath: 1024,
  brought: 4096,
} as const;
