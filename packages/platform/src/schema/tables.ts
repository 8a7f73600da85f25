import type { Generated } from 'kysely';

/** The tables of the platform: identities and what they may do, the event log and what belongs to it, the audit. */
declare module '@muster/store' {
  interface Schema {
    organizations: {
      /** 32 lower-case hex digits; its last 12 begin every job id (sheet §7.5). */
      id: string;
      name: string;
      created_at: number;
    };
    principals: {
      id: string;
      /** Users are global: null. Nodes and services belong to one organization. */
      org_id: string | null;
      type: 'user' | 'node' | 'service';
      name: string;
      /** 1 when this user may manage organizations and users. */
      server_admin: number;
      created_at: number;
    };
    principal_keys: {
      id: string;
      principal_id: string;
      /** PEM, SPKI. */
      public_key: string;
      /** SHA-256 of the DER, hex. */
      fingerprint: string;
      created_at: number;
      /** Null: it does not expire. */
      expires_at: number | null;
    };
    revoked_keys: {
      /** Empty: of the server. */
      org_id: string;
      /** SHA-256 of the DER, hex. */
      fingerprint: string;
      reason: string | null;
      /** JSON: who had it, as `KeyHolder`s. */
      held_by: string;
      revoked_by: string;
      revoked_at: number;
    };
    org_members: { org_id: string; principal_id: string; created_at: number };
    org_invitations: {
      id: string;
      org_id: string;
      principal_id: string;
      invited_by: string;
      created_at: number;
      expires_at: number;
    };
    groups: {
      org_id: string;
      name: string;
      created_at: number;
      /** 1: what it gives, its members alone hold; otherwise admins do besides. */
      exclusive: Generated<number>;
    };
    group_members: { org_id: string; group_name: string; kind: 'user' | 'client' | 'group'; member: string };
    node_groups: {
      org_id: string;
      name: string;
      /** Selector, or null for a listed group. */
      query: string | null;
      created_at: number;
      updated_at: number;
    };
    node_group_members: { org_id: string; group_name: string; node: string };
    /** EXECUTE on a node group (decision N13). */
    node_group_grants: { org_id: string; group_name: string; kind: 'user' | 'client' | 'group'; member: string };
    enrol_tokens: {
      id: string;
      org_id: string;
      /** SHA-256 of the token, hex; the token itself is shown once. */
      hash: string;
      uses_left: number;
      expires_at: number;
      created_by: string;
      created_at: number;
    };
    access_tokens: {
      id: string;
      principal_id: string;
      /** Of which organization its requests are where their paths name none; null: that was not said. */
      org_id: string | null;
      /** Whom the user signed in at; then it is good in that organization alone. null: it was made by hand. */
      issuer_id: string | null;
      hash: string;
      expires_at: number;
      created_by: string;
      created_at: number;
    };
    /** Each signs its user in to the console, once. */
    sign_in_links: {
      /** SHA-256 of its secret, hex; as of what follows. */
      hash: string;
      org_id: string;
      principal_id: string;
      /** What it was made with, a key or an access token: one of the two is null. */
      key_fingerprint: string | null;
      token_hash: string | null;
      expires_at: number;
      created_at: number;
    };
    /** Of people who are signed in to the console. */
    browser_sessions: {
      id: string;
      hash: string;
      org_id: string;
      principal_id: string;
      /** What it stands on: one of the two is null. */
      key_fingerprint: string | null;
      token_hash: string | null;
      began_by: 'link' | 'token' | 'password' | 'provider';
      address: string | null;
      created_at: number;
      /** Its last request, but for the last minute. */
      last_seen: number;
      expires_at: number;
    };
    /** Each lets the page of a session log in to the event fabric, once. */
    session_tickets: { hash: string; session_id: string; expires_at: number };
    /** Whose tokens organizations take. */
    issuers: {
      id: string;
      org_id: string;
      name: string;
      kind: 'public_key' | 'jwks' | 'oidc' | 'ldap';
      /** PEM, or where the keys are, or the directory. */
      source: string;
      /** JSON: by what its tokens are known, which no two issuers have in common. */
      recognized: string;
      issuer: string | null;
      audience: string | null;
      user_claim: string | null;
      tenant: string | null;
      /** JSON: how people sign in there; null: they do not. */
      sign_in: string | null;
      /** JSON: of a directory, what is asked there. */
      ldap: string | null;
      /** See `SealingKey`: the password with which a directory is asked. */
      sealed: Uint8Array | null;
      created_at: number;
    };
    /** Who has signed in at a directory, and is looked for there from then on. */
    directory_users: {
      issuer_id: string;
      principal_id: string;
      org_id: string;
    };
    /** Tokens that somebody signed in with, each until it is too old to be accepted again. */
    used_sign_ins: {
      org_id: string;
      /** SHA-256 of the token, hex. */
      hash: string;
      /** In milliseconds since the epoch. */
      ends: number;
    };
    /** Events in the order of their positions; a row holds those of one transaction, organization and subject. */
    event_log: {
      /** Positions of its first and its last event. */
      first: number;
      last: number;
      /** First position of the transaction: rows of one transaction overlap, those of two never do. */
      floor: number;
      /** Least and greatest time of its events. */
      at_first: number;
      at_last: number;
      org_id: string;
      /** Whose feed shows these events, such as `push/ID`; null: they are in no feed. */
      subject: string | null;
      /** Length of `frames`, so that an index can tell the size of the log. */
      bytes: number;
      /** See `event-chunk.ts`. */
      frames: Uint8Array;
    };
    /** What the rows that are left of `event_log` do not tell. */
    event_marks: {
      /** `pruned`: nothing after it was. Else up to it events were looked at, for what is to be done about them. */
      name: 'pruned' | 'notifications' | 'rules' | 'counts';
      position: number;
    };
    /** How many events of a type there were within an hour, in numbers since the epoch. */
    event_counts: {
      org_id: string;
      hour: number;
      type: string;
      /** '': of any. */
      status: string;
      count: number;
    };
    /** Future events. */
    scheduled_events: {
      id: string;
      org_id: string;
      /** `ORG/NAME` */
      source: string;
      /** A user may have the name of a node or a service. */
      kind: 'user' | 'node' | 'service';
      type: string;
      /** When it is due. */
      at: number;
      /** Order of acceptance, for those that are due at the same time. */
      seq: number;
      created_at: number;
      /** Header lines as in `event_log`. */
      lines: Uint8Array;
      body: Uint8Array;
    };
    /** How far durable subscriptions are. */
    event_cursors: {
      org_id: string;
      /** `ORG/NAME` */
      principal: string;
      /** A user may have the name of a node or a service. */
      kind: 'user' | 'node' | 'service';
      name: string;
      /** Everything up to this position was acknowledged or does not match. */
      through: number;
      /** JSON: positions beyond `through` that were acknowledged, ascending. */
      acknowledged: string;
      selector: string;
      saved_at: number;
    };
    /** Signed logins that were made, each until it is too old to be accepted again. */
    event_nonces: {
      principal_id: string;
      nonce: string;
      /** In milliseconds since the epoch. */
      ends: number;
    };
    /** Event types that fit such a pattern are for those who hold the grant. */
    event_grants: {
      org_id: string;
      action: 'publish' | 'subscribe';
      pattern: string;
      kind: 'user' | 'client' | 'group';
      member: string;
    };
    /** What somebody outside is told of: events, or the audit. */
    notifications: {
      id: string;
      org_id: string;
      name: string;
      follows: 'audit' | 'events';
      /** Of events; '' for the audit. */
      selector: string;
      /** A web address, or one of mail. */
      target: string;
      /** `RetryPolicy`, JSON. */
      policy: string;
      /** 0: it tells nothing. */
      enabled: number;
      /** With whose rights it follows events: whoever made or changed it last. */
      owner_id: string;
      owner_type: 'user' | 'node' | 'service';
      owner_name: string;
      /** Events after this position are told. */
      since: number;
      /** Events that were not told, as too many waited. */
      skipped: number;
      created_at: number;
      updated_at: number;
    };
    /** How far the audit has come with those who are told of it. */
    audit_trails: {
      notification_id: string;
      org_id: string;
      /** Number of the last seal that arrived. */
      seal: number;
      /** Of the one after it. */
      attempts: number;
      next_attempt: number;
      response_code: number | null;
      detail: string | null;
      last_sent: number | null;
    };
    /** Values that commands may be given, sealed. */
    org_secrets: {
      id: string;
      org_id: string;
      name: string;
      /** See `SealingKey`. Null: a provider has it. */
      sealed: Uint8Array | null;
      provider: string | null;
      /** What it is there. */
      reference: string | null;
      owner_id: string;
      owner_name: string;
      /** Who may use it besides, JSON. */
      holders: string;
      created_at: number;
      updated_at: number;
    };
    /** What was sent to whom, or is to be sent. */
    deliveries: {
      id: string;
      /** Whoever subscribed: gets one at a time. */
      subscription: string;
      /** What it tells of, or who is told: `job/ID`, `notification/ID`. */
      subject: string;
      org_id: string;
      event: string;
      url: string;
      /** The subject of a mail. */
      title: string;
      /** JSON. */
      body: string;
      /** `RetryPolicy`, JSON. */
      policy: string;
      /** 1: its subscription gets no other. */
      only: number;
      attempts: number;
      next_attempt: number | null;
      response_code: number | null;
      /** `logged`: mail of a server that has no mail server. */
      outcome: 'waiting' | 'delivered' | 'logged' | 'given_up';
      detail: string | null;
      created: number;
      last_sent: number | null;
    };
    /** What commands wrote. */
    output_chunks: {
      /** What the command belongs to, as in `event_log`: `push/ID`. */
      subject: string;
      /** Which of the commands of the subject, such as the node that ran it. */
      part: string;
      stream: 'stdout' | 'stderr';
      /** Position of `data` in the stream; a gap means that bytes were dropped. */
      position: number;
      data: Uint8Array;
    };
    audit: {
      id: Generated<number>;
      org_id: string | null;
      at: number;
      actor: string;
      actor_kind: 'user' | 'node' | 'service' | 'server' | 'claimed';
      /** Where the request came from; null: there was none, or it is not known. */
      address: string | null;
      action: string;
      target: string;
      outcome: 'done' | 'denied' | 'failed' | 'forged';
      detail: string;
      /** Number of the seal it goes with; null: it waits for one. */
      seal: number | null;
      /** That a server wrote it as it stands, see `audit-marks.ts`; null: of a version before there were marks. */
      mark: string | null;
    };
    /** Of the entries of an organization, or of none (''): each with all before it. See `audit-chain.ts`. */
    audit_seals: {
      org_id: string;
      /** From 1, without gaps but where the end was deleted that somebody has. */
      number: number;
      entries: number;
      at: number;
      hash: string;
      signature: string;
    };
    /** Organizations that are gone, while rows of any layer are left of them. */
    deleted_organizations: { id: string; deleted_at: number };
  }
}
