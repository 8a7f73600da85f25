import type { Clock } from '@muster/base';
import type { ServerKeys } from '@muster/signing';
import type { Store } from '@muster/store';
import type { Recorder } from '../log/recorder.js';
import { type FetchJson, fetchJson } from '../outbound/fetch-json.js';
import { Audit } from './audit.js';
import { type AuditHeads, rememberedHeads } from './audit-heads.js';
import { AuditMarks } from './audit-marks.js';
import { AuditSeals, type CutChain } from './audit-seals.js';
import { Authentication } from './authentication.js';
import { Changes, type RandomBytes, type Trx } from './changes.js';
import { Enrolment } from './enrolment.js';
import { GroupDirectory } from './groups.js';
import { type Holding, holdingsOf } from './holdings.js';
import { IdentityListeners } from './identity-listeners.js';
import { IDENTITY_ROWS } from './identity-rows.js';
import { Invitations } from './invitations.js';
import { Attempts } from './issuers/attempts.js';
import { BrowserSignIns } from './issuers/browser-sign-ins.js';
import { IssuerDirectory } from './issuers/directory.js';
import { IssuedTokens } from './issuers/issued.js';
import { Directories } from './issuers/ldap/directories.js';
import { Providers } from './issuers/providers.js';
import { IssuerSecrets, type Sealing } from './issuers/secrets.js';
import { SignIns } from './issuers/sign-ins.js';
import { ISSUER_LIMITS } from './issuers/types.js';
import { NodeGroupDirectory, type NodeSelection } from './node-groups.js';
import { OrganizationRemnants, type OrganizationRows } from './organization-rows.js';
import { Organizations } from './organizations.js';
import { Principals } from './principals.js';
import { AuthRepository } from './repository.js';
import { RevokedKeys } from './revoked-keys.js';
import { type DeclaredRights, Rights } from './rights.js';
import { LiveSessions } from './sessions/live.js';
import { Sessions } from './sessions/sessions.js';
import { type Ground, Standing } from './standing.js';
import { Tokens } from './tokens.js';
import type { Identity, Organization, Permission } from './types.js';

export interface AuthDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  /** Of this process; new at every start. */
  readonly incarnation: string;
  readonly selection: NodeSelection;
  /** What the layers above keep of organizations. */
  readonly organizationRows?: readonly OrganizationRows[];
  /** Rows of an organization that is gone could not be deleted; it is tried again. */
  readonly remnantsFailed?: (error: unknown) => void;
  /** An audit entry that could not be stored: the store was closed. */
  readonly auditFailed: (error: unknown) => void;
  /** With which entries of the audit are sealed. */
  readonly serverKeys: ServerKeys;
  /** Entries could not be sealed; it is tried again. */
  readonly sealingFailed?: (error: unknown) => void;
  /** By their ids, entries of the audit that no server has written as they stand. */
  readonly forgedFound?: (ids: readonly number[]) => void;
  /** How far the audit was sealed, besides what the database says; for as long as this process lives unless given. */
  readonly auditHeads?: AuditHeads;
  /** Seals of the audit are gone that were made, or brought to somebody. */
  readonly auditCut?: (cut: CutChain) => void;
  /** Of all layers of the process. */
  readonly rights: readonly DeclaredRights[];
  /** Sessions that have ended could not be deleted, or signs of life of others stored; it is tried again. */
  readonly sessionsFailed?: (error: unknown) => void;
  /** What open answers stand on could not be read; it is tried again. */
  readonly standingFailed: (error: unknown) => void;
  /** How keys of issuers are fetched: from public addresses unless given. */
  readonly fetch?: FetchJson;
  /** With which secrets of issuers are sealed. */
  readonly sealing: Sealing;
  /** Whether directories may be at private addresses; not unless given. */
  readonly privateDirectories?: boolean;
  /** A directory could not be asked for somebody who signs in; they were told, without the reason. */
  readonly directoryFailed?: (issuer: string, error: unknown) => void;
  /** The same of an OpenID provider. */
  readonly providerFailed?: (issuer: string, error: unknown) => void;
}

/** Identities, what they may do, and the record of it. */
export interface Auth {
  readonly rights: Rights;
  readonly repository: AuthRepository;
  readonly changes: Changes;
  readonly authentication: Authentication;
  readonly organizations: Organizations;
  readonly invitations: Invitations;
  /** Started when everything is loaded, stopped before the store is closed. */
  readonly remnants: OrganizationRemnants;
  readonly principals: Principals;
  readonly revokedKeys: RevokedKeys;
  readonly groups: GroupDirectory;
  readonly nodeGroups: NodeGroupDirectory;
  readonly tokens: Tokens;
  readonly issuers: IssuerDirectory;
  readonly directories: Directories;
  readonly issuerSecrets: IssuerSecrets;
  readonly signIns: SignIns;
  readonly browserSignIns: BrowserSignIns;
  readonly sessions: Sessions;
  readonly enrolment: Enrolment;
  readonly audit: Audit;
  readonly auditSeals: AuditSeals;
  /** Who is told of changes, so that what runs ends with what it stands on. */
  readonly listeners: IdentityListeners;
  /** For what stays open: does the right to it last? */
  readonly standing: Standing;
  /** Clears from now on what deleted organizations have left. */
  start(): void;
  stop(): Promise<void>;
  /** `subject` is the node or user that the route names. Membership is checked by `authentication`. */
  authorize(
    identity: Identity,
    organization: Organization | null,
    permission: Permission,
    subject?: string,
  ): Promise<boolean>;
  /** What somebody may do in the organization whatever a route names there, and what gives it to them. */
  holdings(identity: Identity, organization: Organization): Promise<readonly Holding[]>;
}

export function createAuth(deps: AuthDeps): Auth {
  const { store, recorder, clock, random, selection } = deps;
  const repository = new AuthRepository(store, clock);
  const { serverKeys: keys } = deps;
  const marks = new AuditMarks(keys);
  const { sealingFailed = () => undefined, forgedFound = () => undefined, auditCut = () => undefined } = deps;
  const auditSeals = new AuditSeals({
    store,
    recorder,
    clock,
    keys,
    marks,
    heads: deps.auditHeads ?? rememberedHeads(),
    failed: sealingFailed,
    forged: forgedFound,
    cut: auditCut,
  });
  const audit = new Audit({ store, clock, marks, failed: deps.auditFailed, written: () => auditSeals.due() });
  const changes = new Changes({ recorder, repository, audit, clock, random });
  const listeners = new IdentityListeners();
  const { fetch = fetchJson(ISSUER_LIMITS.fetch, false) } = deps;
  const issued = new IssuedTokens({ repository, clock, fetch });
  const { sealing, privateDirectories: privateTargets = false } = deps;
  const issuerSecrets = new IssuerSecrets(store, sealing);
  const directories = new Directories({ secrets: issuerSecrets, clock, privateTargets });
  const { sessionsFailed = () => undefined, directoryFailed = () => undefined } = deps;
  const attempts = new Attempts(clock);
  const signIns = new SignIns({ changes, repository, issued, directories, attempts, directoryFailed });
  const live = new LiveSessions({ store, repository, clock, failed: sessionsFailed });
  const authentication = new Authentication(repository, issued, live);
  const history = { clear: (trx: Trx, orgId: string, most: number) => recorder.forgetSome(trx, orgId, most) };
  const rows = [IDENTITY_ROWS, ...(deps.organizationRows ?? []), history];
  const { incarnation, remnantsFailed = () => undefined } = deps;
  const remnants = new OrganizationRemnants({ store, clock, incarnation, rows, failed: remnantsFailed });
  const rights = new Rights(deps.rights);
  const authorize: Auth['authorize'] = async (identity, organization, permission, subject) => {
    const right = rights.of(permission);
    const orgId = organization?.id;
    const groups = orgId === undefined ? new Map() : await repository.groups(orgId);
    const nodeGroups = orgId === undefined || !right.byNodeGroup ? [] : await repository.nodeGroups(orgId);
    const about = { groups, nodeGroups, subject };
    if (right.allows(identity, about)) return true;
    // Looked up only for those who need it: most who ask have the right without.
    if (orgId === undefined || subject === undefined) return false;
    if (right.ownerOf === undefined && right.admittedTo === undefined) return false;
    const owner = await right.ownerOf?.(store.read, orgId, subject);
    const admitted = await right.admittedTo?.(store.read, orgId, subject);
    return right.allows(identity, { ...about, owner, admitted });
  };
  const stands = async (ground: Ground): Promise<boolean> => {
    const { organization, permission, subject } = ground;
    if (organization !== null && (await repository.organization(organization.name))?.id !== organization.id)
      return false;
    const realm = { organization, administration: rights.of(permission).administration };
    const identity = await authentication.again(ground, realm, clock.now());
    return identity !== null && authorize(identity, organization, permission, subject);
  };
  const standing = new Standing({ repository, clock, stands, failed: deps.standingFailed });
  return {
    rights,
    repository,
    changes,
    authentication,
    organizations: new Organizations(changes, repository, { rows, remnants }),
    invitations: new Invitations(changes, repository),
    remnants,
    principals: new Principals(changes, repository),
    revokedKeys: new RevokedKeys(changes, repository, listeners),
    groups: new GroupDirectory(changes, repository, rights),
    nodeGroups: new NodeGroupDirectory(changes, repository, selection),
    tokens: new Tokens(changes, repository),
    issuers: new IssuerDirectory(changes, repository, issued.keys, directories, issuerSecrets),
    directories,
    issuerSecrets,
    signIns,
    browserSignIns: new BrowserSignIns({
      ...{ changes, signIns, attempts, sealing, secrets: issuerSecrets },
      providers: new Providers(clock, fetch),
      failed: deps.providerFailed ?? (() => undefined),
    }),
    sessions: new Sessions({ store, changes, repository, authentication, live }),
    enrolment: new Enrolment(changes, repository),
    audit,
    auditSeals,
    listeners,
    standing,
    authorize,
    async holdings(identity, organization) {
      const groups = await repository.groups(organization.id);
      const nodeGroups = await repository.nodeGroups(organization.id);
      const candidates = await repository.candidates(organization.id, identity.name);
      const member = candidates.some((one) => one.principalId === identity.principalId && one.member);
      return holdingsOf(rights, identity, { groups, nodeGroups }, member);
    },
    start() {
      live.start();
      remnants.start();
      auditSeals.start();
    },
    async stop() {
      standing.stop();
      await Promise.all([remnants.stop(), auditSeals.stop(), live.stop()]);
    },
  };
}
