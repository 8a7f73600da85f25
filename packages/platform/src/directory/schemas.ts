import { Type } from 'typebox';
import { AUTH_LIMITS } from '../auth/limits.js';
import { GROUP_NAME, ORGANIZATION_NAME, PRINCIPAL_NAME } from '../auth/names.js';

/** Request and answer shapes of identities. Requests are strict: an unknown field is refused by name. */
export const STRICT = { additionalProperties: false } as const;

export const OrganizationName = Type.String({ pattern: ORGANIZATION_NAME, description: 'a-z 0-9 _ -' });
const PrincipalName = Type.String({ pattern: PRINCIPAL_NAME, description: 'letters, digits and _ . : @ -' });
export const GroupName = Type.String({ pattern: GROUP_NAME, description: 'letters, digits and _ . -' });
export const Time = Type.String({ description: 'ISO 8601' });
export const IssuerName = Type.String({ pattern: GROUP_NAME, description: 'letters, digits and _ . -' });
export const OrNull = Type.Union([Type.String(), Type.Null()]);
export const PublicKey = Type.String({
  description: 'PEM: SPKI, PKCS#1 or an X.509 certificate; RSA, 2048 bits or more',
});

/** In paths names are not checked against the pattern: what does not exist is 404. */
const segment = () => Type.String({ minLength: 1, maxLength: 255 });
export const OrgParams = Type.Object({ org: segment() });
export const NameParams = Type.Object({ name: segment() });
export const OrgNameParams = Type.Object({ org: segment(), name: segment() });
export const IdParams = Type.Object({ id: segment() });
/** For routes that serve several paths: the names decide. */
export const pathParams = (names: readonly string[]) =>
  Type.Unsafe<Readonly<Record<string, string>>>(
    Type.Object(Object.fromEntries(names.map((name) => [name, segment()]))),
  );
export const NameIdParams = Type.Object({ name: segment(), id: segment() });
export const OrgIdParams = Type.Object({ org: segment(), id: segment() });
export const OrgNameIdParams = Type.Object({ org: segment(), name: segment(), id: segment() });

/** The answer of whatever was deleted or added and has nothing to say. */
export const Nothing = { 204: Type.Null({ description: 'Done' }) };

const members = () => Type.Array(PrincipalName, { maxItems: AUTH_LIMITS.groupMembers });
const groups = () => Type.Array(GroupName, { maxItems: AUTH_LIMITS.groupsPerOrganization });
/** Users by name, clients (nodes and services) by name, nested groups by name. */
export const MembersBody = Type.Object(
  { users: Type.Optional(members()), clients: Type.Optional(members()), groups: Type.Optional(groups()) },
  STRICT,
);
const MembersAnswer = {
  users: Type.Array(Type.String()),
  clients: Type.Array(Type.String()),
  groups: Type.Array(Type.String()),
};
const Exclusive = {
  exclusive: Type.Boolean({ description: 'Admins hold what the group gives only as members' }),
};
export const GroupBody = Type.Object(
  {
    ...MembersBody.properties,
    exclusive: Type.Optional(
      Type.Boolean({
        description:
          'Take from admins what the group gives, unless they are members. As it was when absent: false for a new group, true for one that is made as `pushy_job_writers` or `pushy_job_readers`',
      }),
    ),
  },
  STRICT,
);
export const GroupQuery = Type.Object(
  { force: Type.Optional(Type.Boolean({ description: 'Also a name that is nearly a role’s' })) },
  STRICT,
);
export const GroupAnswer = Type.Object({ name: Type.String(), ...Exclusive, ...MembersAnswer });
/** Of what was stored. */
export const Unknown = {
  unknown: Type.Object(MembersAnswer, { description: 'Names that nobody in the organization has yet' }),
};
export const StoredGroupAnswer = Type.Object({ name: Type.String(), ...Exclusive, ...MembersAnswer, ...Unknown });

export const NodeGroupBody = Type.Object(
  {
    nodes: Type.Optional(Type.Array(PrincipalName, { maxItems: AUTH_LIMITS.groupMembers })),
    query: Type.Optional(
      Type.String({ minLength: 1, maxLength: 16_384, description: 'Selector over facts and labels' }),
    ),
    execute: Type.Optional(MembersBody),
  },
  { ...STRICT, description: 'Either `nodes` or `query`; `execute` restricts who may run commands on them' },
);
export const NodeGroupAnswer = Type.Object({
  name: Type.String(),
  nodes: Type.Union([Type.Array(Type.String()), Type.Null()]),
  query: Type.Union([Type.String(), Type.Null()]),
  execute: Type.Object(MembersAnswer),
});

export const StoredNodeGroupAnswer = Type.Object({ ...NodeGroupAnswer.properties, ...Unknown });

export const OrganizationBody = Type.Object({ name: OrganizationName }, STRICT);
export const OrganizationAnswer = Type.Object({ id: Type.String(), name: Type.String(), created_at: Time });

const KeyAnswerFields = {
  fingerprint: Type.String(),
  created_at: Time,
  expires_at: Type.Union([Time, Type.Null()], {
    description: 'Requests signed with it later are refused; null: never',
  }),
};
const keyTtl = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: AUTH_LIMITS.keyTtl,
    description: 'Seconds after which the key expires; it does not when absent',
  }),
);
/** Which part of a list of keys is wanted. */
const keyPage = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.keyPageMost, default: AUTH_LIMITS.keyPage })),
  offset: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 })),
};
/** Whose a key is. */
const KeyHolderType = Type.Union([Type.Literal('user'), Type.Literal('node'), Type.Literal('service')]);
export const KeysQuery = Type.Object(
  {
    expires_within: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: AUTH_LIMITS.keyTtl,
        description: 'Seconds: only keys that expire within that time, or have already',
      }),
    ),
    ...keyPage,
  },
  STRICT,
);
export const KeysAnswer = Type.Object({
  total: Type.Integer({ description: 'With those that are not on this page' }),
  keys: Type.Array(
    Type.Object({
      type: KeyHolderType,
      name: Type.String({ description: 'Whose it is' }),
      ...KeyAnswerFields,
    }),
  ),
});
const Holders = Type.Array(Type.Object({ type: KeyHolderType, name: Type.String() }), {
  description: 'Whose it was',
});
const Fingerprint = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the key in DER: 64 lower-case hex digits, as key lists show it',
});
export const RevokedKeysQuery = Type.Object(keyPage, STRICT);
export const RevokedKeysAnswer = Type.Object({
  total: Type.Integer({ description: 'With those that are not on this page' }),
  keys: Type.Array(
    Type.Object({
      list: Type.Union([Type.Literal('organization'), Type.Literal('server')], { description: 'Which list it is on' }),
      fingerprint: Type.String(),
      reason: Type.Union([Type.String(), Type.Null()]),
      held_by: Holders,
      revoked_by: Type.String(),
      revoked_at: Time,
    }),
  ),
});
export const RevokeBody = Type.Object(
  {
    keys: Type.Array(
      Type.Object(
        {
          fingerprint: Fingerprint,
          reason: Type.Optional(
            Type.Union([Type.String({ maxLength: AUTH_LIMITS.revocationReason }), Type.Null()], {
              description: 'Told to whoever tries to register it',
            }),
          ),
        },
        STRICT,
      ),
      { minItems: 1, maxItems: AUTH_LIMITS.revokedAtOnce },
    ),
  },
  STRICT,
);
export const RevokeAnswer = Type.Object({
  keys: Type.Array(
    Type.Object({
      fingerprint: Type.String(),
      held_by: Holders,
      already: Type.Boolean({ description: 'It was on the list already' }),
      listed: Type.Boolean({ description: 'It is on the list now; false: nothing was revoked, as only users have it' }),
      kept_by: Type.Array(
        Type.Object({
          type: Type.Literal('user'),
          name: Type.Union([Type.String(), Type.Null()], { description: 'null: no member of the organization' }),
        }),
        {
          description:
            'Users who have it and go on signing with it: theirs are revoked on the list of the server. A key that only users have is not put on the list of an organization',
        },
      ),
    }),
  ),
});
export const KeyBody = Type.Object({ public_key: PublicKey, ttl: keyTtl }, STRICT);
export const KeyAnswer = Type.Object({ ...KeyAnswerFields, public_key: Type.String() });

export const UserBody = Type.Object(
  {
    name: PrincipalName,
    public_key: PublicKey,
    key_ttl: keyTtl,
    organization: Type.Optional(
      Type.Union([OrganizationName, Type.Null()], {
        description: 'Where it becomes a member; the caller’s own when absent and unambiguous, none when null',
      }),
    ),
    groups: Type.Optional(groups()),
    server_admin: Type.Optional(Type.Boolean()),
  },
  STRICT,
);
export const UserAnswer = Type.Object({
  name: Type.String(),
  server_admin: Type.Boolean(),
  created_at: Time,
  keys: Type.Array(Type.Object({ ...KeyAnswerFields, public_key: Type.String() })),
});
export const MemberAnswer = Type.Object({ name: Type.String(), created_at: Time });

export const InvitationBody = Type.Object({ user: PrincipalName }, STRICT);
export const InvitationAnswer = Type.Object({
  id: Type.String(),
  orgname: Type.String(),
  username: Type.String(),
  invited_by: Type.String(),
  created_at: Time,
  expires_at: Time,
});
export const InvitationResponseBody = Type.Object(
  { response: Type.Union([Type.Literal('accept'), Type.Literal('reject')]) },
  STRICT,
);
export const InvitationAnsweredAnswer = Type.Object({ organization: Type.Object({ name: Type.String() }) });

export const ClientBody = Type.Object({ name: PrincipalName, public_key: PublicKey, key_ttl: keyTtl }, STRICT);
export const ClientAnswer = Type.Object({
  name: Type.String(),
  type: Type.Union([Type.Literal('node'), Type.Literal('service')]),
  created_at: Time,
  keys: Type.Array(Type.Object({ ...KeyAnswerFields, public_key: Type.String() })),
});

export const EnrolBody = Type.Object(
  { token: Type.String({ minLength: 1, maxLength: 512 }), name: PrincipalName, public_key: PublicKey },
  STRICT,
);
export const EnrolAnswer = Type.Object({ name: Type.String(), organization: Type.String() });

const ttl = Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.tokenTtl, description: 'Seconds' });
export const TokenBody = Type.Object(
  {
    uses: Type.Optional(Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.enrolUses, default: 1 })),
    ttl: Type.Optional({ ...ttl, default: 3600 }),
  },
  STRICT,
);
export const LackAnswer = Type.Object({
  permission: Type.String({ description: 'That is missing' }),
  holders: Type.String({ description: 'Who has it, for people' }),
});
export const HoldingAnswer = Type.Object({
  permission: Type.String(),
  by: Type.Array(
    Type.Object({
      kind: Type.Union(
        [Type.Literal('member'), Type.Literal('server_admin'), Type.Literal('group'), Type.Literal('node_group')],
        { description: 'member: whoever belongs to the organization has it; node_group: by a grant that names them' },
      ),
      name: Type.Union([Type.String(), Type.Null()], { description: 'Of the group' }),
    }),
    { description: 'Each is enough; none: only all together' },
  ),
});

const TokenFields = { id: Type.String(), expires_at: Time, created_by: Type.String(), created_at: Time };
export const TokenAnswer = Type.Object({ ...TokenFields, uses_left: Type.Integer() });
export const IssuedTokenAnswer = Type.Object({ ...TokenFields, uses_left: Type.Integer(), token: Type.String() });

export const AccessTokenBody = Type.Object(
  {
    user: Type.Optional({ ...PrincipalName, description: 'The caller when absent' }),
    ttl: Type.Optional({ ...ttl, default: AUTH_LIMITS.defaultTokenTtl }),
    organization: Type.Optional({
      ...OrganizationName,
      description: 'Where its requests go whose paths name none, as those to /jobs/v2; the user belongs to it',
    }),
  },
  STRICT,
);
export const AccessTokenAnswer = Type.Object({ ...TokenFields, user: Type.String() });
export const IssuedAccessTokenAnswer = Type.Object({ ...TokenFields, user: Type.String(), token: Type.String() });

export const ServiceTokenBody = Type.Object(
  { ttl: Type.Optional({ ...ttl, default: AUTH_LIMITS.defaultTokenTtl }) },
  STRICT,
);
export const ServiceTokenAnswer = Type.Object({ ...TokenFields, service: Type.String() });
export const IssuedServiceTokenAnswer = Type.Object({ ...TokenFields, service: Type.String(), token: Type.String() });

const cursor = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));
const ActorKind = Type.Union(
  [
    Type.Literal('user'),
    Type.Literal('node'),
    Type.Literal('service'),
    Type.Literal('server'),
    Type.Literal('claimed'),
  ],
  { description: 'What the actor is; `claimed`: nobody proved to be that' },
);
export const AuditQuery = Type.Object(
  {
    after: cursor('Entries after this id, oldest first'),
    before: cursor('Entries before this id, newest first'),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: AUTH_LIMITS.auditPage, default: 100 })),
    actor: Type.Optional(Type.String({ maxLength: 255 })),
    actor_kind: Type.Optional(ActorKind),
    action: Type.Optional(Type.String({ maxLength: 255, description: 'For example push.start or access.denied' })),
  },
  STRICT,
);
export const AuditAnswer = Type.Object({
  id: Type.Integer(),
  at: Time,
  actor: Type.String({ description: 'Who did it' }),
  actor_kind: ActorKind,
  address: Type.Union([Type.String(), Type.Null()], { description: 'Where the request came from, if it is known' }),
  action: Type.String(),
  target: Type.String(),
  outcome: Type.Union([Type.Literal('done'), Type.Literal('denied'), Type.Literal('failed'), Type.Literal('forged')], {
    description:
      'failed: the server tried it by itself, for somebody, and could not; forged: it was found in the database, and no server wrote it as it stands',
  }),
  detail: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()])),
});
export const AuditSealsQuery = Type.Object(
  { after: Type.Optional(Type.Integer({ minimum: 0, description: 'Seals after the one of this number' })) },
  STRICT,
);
export const AuditSealsAnswer = Type.Object({
  organization_id: Type.String({ description: 'Empty: of what concerns the whole server' }),
  public_key: Type.String({ description: 'PEM, of the server' }),
  server_keys: Type.Array(
    Type.Object({
      previous: Type.String({ description: 'PEM' }),
      key: Type.String({ description: 'PEM' }),
      announced_at: Time,
      takes_over_at: Time,
      revoked: Type.Boolean({ description: 'The previous key was replaced at once: somebody else may have it' }),
      signature: Type.String({ description: 'Base64, by the previous key' }),
      confirmation: Type.String({ description: 'Base64, by the key' }),
    }),
    { description: 'How the key of the server was replaced, the oldest first: earlier seals are by earlier keys' },
  ),
  known_seal: Type.Integer({
    description:
      'Number of the last seal that this server has made, or brought elsewhere; 0: of none. Where none with it follows, the end was deleted',
  }),
  seals: Type.Array(
    Type.Object({
      seal: Type.Object({
        number: Type.Integer({ description: 'From 1, without gaps' }),
        entries: Type.Integer(),
        at: Time,
        hash: Type.String({ description: 'SHA-256 of the hash before and of the entries, a line feed after each' }),
        signature: Type.String({ description: 'Base64, RSA with SHA-256' }),
      }),
      entries: Type.Array(Type.String({ description: 'JSON text, as it was sealed' })),
    }),
  ),
});
