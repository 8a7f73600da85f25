import type { Store } from '@muster/store';
import type { Clock } from '@muster/wire';
import type { Recorder } from '../events/recorder.js';
import { Audit } from './audit.js';
import { Authentication } from './authentication.js';
import { Changes, type RandomBytes } from './changes.js';
import { Enrolment } from './enrolment.js';
import { GroupDirectory } from './groups.js';
import { NodeGroupDirectory, type NodeSelection } from './node-groups.js';
import { Organizations } from './organizations.js';
import { allows } from './permissions.js';
import { Principals } from './principals.js';
import { AuthRepository } from './repository.js';
import { Tokens } from './tokens.js';
import type { Identity, Organization, Permission } from './types.js';

/** What the nodes layer is told about node principals. */
export interface NodeLifecycle {
  /** A node was created or enrolled: it is known from now on, and down. */
  created(organization: Organization, node: string): void;
  /** What was agreed with this key of a node ends. */
  keyRemoved(organization: Organization, node: string, fingerprint: string): void;
  /** An organization was deleted. */
  organizationRemoved(orgId: string): Promise<void>;
}

export interface AuthDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly selection: NodeSelection;
  readonly nodes: NodeLifecycle;
  /** An audit entry that could not be stored: the store was closed. */
  readonly auditFailed: (error: unknown) => void;
}

/** Identities, what they may do, and the record of it. */
export interface Auth {
  readonly repository: AuthRepository;
  readonly changes: Changes;
  readonly authentication: Authentication;
  readonly organizations: Organizations;
  readonly principals: Principals;
  readonly groups: GroupDirectory;
  readonly nodeGroups: NodeGroupDirectory;
  readonly tokens: Tokens;
  readonly enrolment: Enrolment;
  readonly audit: Audit;
  readonly nodes: NodeLifecycle;
  /** `subject` is the node or user that the route names. Membership is checked by `authentication`. */
  authorize(
    identity: Identity,
    organization: Organization | null,
    permission: Permission,
    subject?: string,
  ): Promise<boolean>;
}

export function createAuth(deps: AuthDeps): Auth {
  const { store, recorder, clock, random, selection, nodes } = deps;
  const repository = new AuthRepository(store, clock);
  const audit = new Audit({ store, clock, failed: deps.auditFailed });
  const changes = new Changes({ recorder, repository, audit, clock, random });
  return {
    repository,
    changes,
    authentication: new Authentication(repository),
    organizations: new Organizations(changes, repository),
    principals: new Principals(changes, repository),
    groups: new GroupDirectory(changes, repository),
    nodeGroups: new NodeGroupDirectory(changes, repository, selection),
    tokens: new Tokens(changes, repository),
    enrolment: new Enrolment(changes, repository),
    audit,
    nodes,
    async authorize(identity, organization, permission, subject) {
      const orgId = organization?.id;
      const groups = orgId === undefined ? new Map() : await repository.groups(orgId);
      const nodeGroups = orgId === undefined || permission !== 'push:execute' ? [] : await repository.nodeGroups(orgId);
      return allows(identity, permission, { groups, nodeGroups, subject });
    },
  };
}
