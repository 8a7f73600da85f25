import type { Clock } from '@muster/base';
import type { Authority, EventAccess, Login, Revoked } from '@muster/fabric';
import { isLoginTimely, readLoginSignature, SIGNING_LIMITS, verifyLogin } from '@muster/signing';
import type { Audit } from '../auth/audit.js';
import { secretHash } from '../auth/changes.js';
import { ORGANIZATION_NAME, PRINCIPAL_NAME } from '../auth/names.js';
import type { AuthRepository, Candidate, CandidateKey } from '../auth/repository.js';
import type { Sessions } from '../auth/sessions/sessions.js';
import type { Session } from '../auth/sessions/types.js';
import { type Credential, type Identity, isGood, type Organization } from '../auth/types.js';
import { MusterError } from '../errors.js';
import { eventAccess, type Followers } from './access.js';
import { type Grounds, groundsText, HeldLogins, hashOf, rightsIn } from './held-logins.js';
import { EVENT_LIMITS } from './limits.js';
import type { StoredNonces } from './stored-nonces.js';

export interface EventAuthorityDeps {
  readonly repository: AuthRepository;
  readonly audit: Audit;
  readonly nonces: StoredNonces;
  readonly sessions: Pick<Sessions, 'ofTicket' | 'useTicket' | 'live'>;
  readonly followers: Followers;
  readonly clock: Clock;
  readonly log: { warn(detail: object, message: string): void };
  readonly observe: (outcome: 'accepted' | 'refused') => void;
}

/** Why a login is refused; goes to the audit, and never to who tried. */
type Refusal =
  | 'not ORG/NAME'
  | 'no such organization'
  | 'not in the organization'
  | 'unknown token'
  | 'token expired'
  | 'token of somebody else'
  | 'token of another organization'
  | 'key expired'
  | 'untimely signature'
  | 'invalid signature'
  | 'repeated signature'
  | 'unknown ticket'
  | 'ticket of somebody else'
  | 'ticket of another organization'
  | 'repeated ticket';

interface Refused {
  readonly refused: Refusal;
  readonly organization: Organization | null;
}

interface Proven {
  readonly refused: null;
  readonly grounds: Grounds;
  readonly access: EventAccess;
}

type Verdict = Refused | (Proven & { readonly stamp: number });

const LOGIN = new RegExp(`^(${ORGANIZATION_NAME.slice(1, -1)})/(${PRINCIPAL_NAME.slice(1, -1)})$`);

/** Attempts to judge a login between two changes of identities. */
const ATTEMPTS = 5;

/**
 * Logins to the event fabric: `ORG/NAME` and an access token of that user or service, a login signed by a key of
 * that user, node or service, or a ticket of a session of that user at the console. Whatever is wrong, who tries hears the same words, after the same time at least.
 */
export class EventAuthority implements Authority {
  readonly #deps: EventAuthorityDeps;
  readonly #held: HeldLogins;
  #pending = 0;

  constructor(deps: EventAuthorityDeps) {
    this.#deps = deps;
    const failed = (error: unknown) => deps.log.warn({ err: error }, 'logins could not be looked at after a change');
    const { repository, clock, followers } = deps;
    this.#held = new HeldLogins({ repository, clock, followers, failed });
  }

  onRevoked(listener: (revoked: Revoked) => void): () => void {
    return this.#held.onRevoked(listener);
  }

  stop(): void {
    this.#held.stop();
  }

  /** @throws MusterError `login_refused`, `too_busy`. */
  async login(login: string, passcode: string, { remote }: { readonly remote: string }): Promise<Login> {
    const { clock, observe } = this.#deps;
    const began = clock.now();
    const verdict = await this.#judge(login, passcode);
    observe(verdict.refused === null ? 'accepted' : 'refused');
    if (verdict.refused === null) return granted(verdict);
    const { refused: reason, organization } = verdict;
    this.#deps.audit.denied('stranger', {
      orgId: organization?.id ?? null,
      actor: { name: login.slice(login.indexOf('/') + 1), kind: 'claimed' },
      action: 'access.denied',
      target: 'stomp',
      detail: { code: 'login_refused', reason, address: remote },
    });
    const rest = EVENT_LIMITS.refusalMs - (clock.now() - began);
    await new Promise<void>((resolve) => clock.after(Math.min(Math.max(rest, 0), EVENT_LIMITS.refusalMs), resolve));
    throw new MusterError('login_refused');
  }

  /** @throws MusterError `login_refused`, `too_busy`. */
  async renew(login: string, grounds: string): Promise<Login> {
    const verdict = await this.#settled(() =>
      this.#verify(login, (members, organization) => this.#standing(grounds, members, organization)),
    );
    if (verdict.refused !== null) throw new MusterError('login_refused');
    return granted(verdict);
  }

  async #judge(login: string, passcode: string): Promise<Verdict> {
    const limit = EVENT_LIMITS.pendingLogins;
    if (this.#pending >= limit) throw new MusterError('too_busy', { what: 'logins', limit });
    this.#pending++;
    // What was proven by a passcode that is good once, when it is used up.
    let proven: string | null = null;
    try {
      return await this.#settled(async () => {
        const verdict = await this.#verify(login, (members, organization) =>
          proven === null
            ? this.#prove(login, passcode, members, organization)
            : this.#standing(proven, members, organization),
        );
        if (verdict.refused !== null || proven !== null) return verdict;
        const { grounds } = verdict;
        const repeated = await this.#use(grounds, passcode);
        if (repeated !== null) return { refused: repeated, organization: grounds.organization };
        proven = groundsText(grounds);
        return verdict;
      });
    } finally {
      this.#pending--;
    }
  }

  /** What was read may be what a change has replaced: then it is read again. */
  async #settled(judge: () => Promise<Refused | Proven>): Promise<Verdict> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const { changes } = this.#held;
      const verdict = await judge();
      if (verdict.refused === 'repeated signature' || verdict.refused === 'repeated ticket') return verdict;
      if (changes === this.#held.changes) return this.#accept(verdict);
    }
    throw new MusterError('too_busy', { what: 'changes of identities', limit: ATTEMPTS });
  }

  /** A signature or a ticket that is good is used up. Null: it was not before. */
  async #use({ credential, identity }: Grounds, passcode: string): Promise<Refusal | null> {
    const { nonces, sessions } = this.#deps;
    if (credential.kind === 'session') return (await sessions.useTicket(passcode)) ? null : 'repeated ticket';
    const signed = credential.kind === 'key' ? readLoginSignature(passcode) : null;
    if (signed === null) return null;
    const { nonce, timestampMs } = signed;
    const first = await nonces.use(identity.principalId, nonce, timestampMs + SIGNING_LIMITS.loginSkewMs);
    return first ? null : 'repeated signature';
  }

  /** Nothing is waited for between this and what the session does: it must hear of every later change. */
  #accept(verdict: Refused | Proven): Verdict {
    if (verdict.refused !== null) return verdict;
    return { ...verdict, stamp: this.#held.hold(verdict.grounds, verdict.access) };
  }

  async #verify(
    login: string,
    prove: (
      members: readonly Candidate[],
      organization: Organization,
    ) => Promise<Omit<Grounds, 'organization'> | Refusal>,
  ): Promise<Refused | Proven> {
    const { repository, followers } = this.#deps;
    const [, orgName = '', name = ''] = LOGIN.exec(login) ?? [];
    if (name === '') return { refused: 'not ORG/NAME', organization: null };
    const organization = await repository.organization(orgName);
    if (organization === undefined) return { refused: 'no such organization', organization: null };
    const members = (await repository.candidates(organization.id, name)).filter(({ member }) => member);
    const proven = members.length === 0 ? 'not in the organization' : await prove(members, organization);
    if (typeof proven === 'string') return { refused: proven, organization };
    const grounds = { organization, ...proven };
    const rights = await rightsIn(repository, organization.id);
    return { refused: null, grounds, access: eventAccess(proven.identity, organization, rights, followers) };
  }

  async #prove(
    login: string,
    passcode: string,
    members: readonly Candidate[],
    organization: Organization,
  ): Promise<Omit<Grounds, 'organization'> | Refusal> {
    if (passcode.startsWith(TICKET)) {
      const session = await this.#deps.sessions.ofTicket(passcode);
      return session === null ? 'unknown ticket' : inSession(session, members, organization);
    }
    const signed = readLoginSignature(passcode);
    if (signed === null) return this.#borne(secretHash(passcode), members, organization);
    if (!isLoginTimely(signed, this.#deps.clock.now())) return 'untimely signature';
    let verdict: Omit<Grounds, 'organization'> | Refusal = 'invalid signature';
    for (const member of members) {
      const found = member.keys.filter(({ key }) => verifyLogin(login, signed, key));
      if (found.length > 0) verdict = this.#keyed(member, found);
      if (typeof verdict !== 'string') return verdict;
    }
    return verdict;
  }

  /** By the first of these keys that has not expired. */
  #keyed(member: Candidate, keys: readonly CandidateKey[]): Omit<Grounds, 'organization'> | Refusal {
    const good = keys.find(({ expiresMs }) => isGood(expiresMs, this.#deps.clock.now()));
    if (good === undefined) return 'key expired';
    return proven(member, { kind: 'key', pem: good.pem, expiresMs: good.expiresMs });
  }

  /** What was proven before. */
  async #standing(
    grounds: string,
    members: readonly Candidate[],
    organization: Organization,
  ): Promise<Omit<Grounds, 'organization'> | Refusal> {
    const [principalId, kind, proof = ''] = grounds.split(' ');
    const same = members.filter((member) => member.principalId === principalId);
    if (kind === 'token') return this.#borne(proof, same, organization);
    if (kind === 'session') {
      const session = await this.#deps.sessions.live.find(proof);
      return session === null ? 'unknown ticket' : inSession(session, same, organization);
    }
    for (const member of same) {
      const found = member.keys.find(({ pem }) => hashOf(pem) === proof);
      if (found !== undefined) return this.#keyed(member, [found]);
    }
    return 'invalid signature';
  }

  async #borne(
    hash: string,
    members: readonly Candidate[],
    organization: Organization,
  ): Promise<Omit<Grounds, 'organization'> | Refusal> {
    const { repository, clock } = this.#deps;
    const bearer = await repository.bearer(hash);
    if (bearer === undefined) return 'unknown token';
    if (bearer.expiresAt <= clock.now()) return 'token expired';
    const owner = members.find(({ principalId }) => principalId === bearer.principalId);
    if (owner === undefined) return 'token of somebody else';
    const signedIn = bearer.issuerId !== null;
    if (signedIn && bearer.organization?.id !== organization.id) return 'token of another organization';
    const credential = { kind: 'token', hash, expiresMs: bearer.expiresAt, signedIn } as const;
    return proven(signedIn ? { ...owner, serverAdmin: false } : owner, credential);
  }
}

/** How tickets begin. */
const TICKET = 'ticket_';

function inSession(
  { principalId, hash, expiresAt, signedIn, organization: home }: Session,
  members: readonly Candidate[],
  organization: Organization,
): Omit<Grounds, 'organization'> | Refusal {
  const owner = members.find((member) => member.principalId === principalId);
  if (owner === undefined) return 'ticket of somebody else';
  if (signedIn && home.id !== organization.id) return 'ticket of another organization';
  const credential = { kind: 'session', hash, expiresMs: expiresAt, signedIn } as const;
  return proven(signedIn ? { ...owner, serverAdmin: false } : owner, credential);
}

function granted({ access, grounds, stamp }: Extract<Verdict, { refused: null }>): Login {
  const { expiresMs } = grounds.credential;
  return { access, expiresMs, grounds: groundsText(grounds), stamp };
}

function proven({ principalId, type, name, serverAdmin }: Candidate, credential: Credential) {
  const identity: Identity = { principalId, type, name, serverAdmin, publicKey: null };
  return { identity, credential };
}
