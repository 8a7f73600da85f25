import type { Generated } from 'kysely';

/**
 * Tables as the code sees them. Ids are text, times are milliseconds since the epoch, flags are 0 or 1 and
 * JSON is text, so that SQLite and PostgreSQL hold the same values. `migrations/` creates them.
 */
export interface Schema {
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
  };
  org_members: { org_id: string; principal_id: string; created_at: number };
  groups: { org_id: string; name: string; created_at: number };
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
    hash: string;
    expires_at: number;
    created_by: string;
    created_at: number;
  };
  nodes: {
    org_id: string;
    name: string;
    status: 'up' | 'down';
    /** When `status` last changed. */
    status_at: number;
    owner: 'down' | 'rehab' | 'idle' | 'job';
    owner_job: string | null;
    owner_at: number;
    /** One sentence: why it is in this state. */
    reason: string;
    incarnation: string | null;
    /** How the previous incarnation ended. */
    last_end: 'clean' | 'crash' | 'reinstalled' | null;
    dialect: 'native' | 'chef2' | 'spec1' | null;
    /** Fingerprint of the key that last asked for configuration. */
    key_fingerprint: string | null;
    facts: string;
    labels: string;
    created_at: number;
    /** Incarnation of the server process that last wrote this row. */
    server: string;
  };
  jobs: {
    id: string;
    org_id: string;
    command: string;
    /** The request as validated, JSON: see `JobSpec` in the server. */
    spec: string;
    requester: string;
    status: string;
    /** `aborting` is a phase, not a status (decision N7); otherwise equal to `status`. */
    phase: string;
    /** While aborting: the status the job will end with. */
    ending: string | null;
    reason: string | null;
    node_count: number;
    created_at: number;
    /** When `status` last changed. */
    updated_at: number;
    /** Absolute deadline of the current phase, null when it has none. */
    deadline: number | null;
    /** Number of the last job event written. */
    event_seq: number;
    server: string;
  };
  job_nodes: {
    job_id: string;
    org_id: string;
    node: string;
    status: string;
    /** 1 once `start` was sent while `ready`: the command may be running. */
    starting: number;
    reason: string | null;
    exit_code: number | null;
    signal: string | null;
    incarnation: string | null;
    started_at: number | null;
    updated_at: number;
    stdout_bytes: number | null;
    stderr_bytes: number | null;
  };
  job_outputs: {
    job_id: string;
    node: string;
    stream: 'stdout' | 'stderr';
    /** Position of `data` in the stream; a gap means that bytes were dropped. */
    position: number;
    data: Uint8Array;
  };
  /** Jobs that are gone from `jobs`, while rows of `job_nodes` and `job_outputs` are left of them. */
  deleted_jobs: { job_id: string };
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
    /** The push job whose feed shows these events; null: they are in no feed. */
    subject: string | null;
    /** Length of `frames`, so that an index can tell the size of the log. */
    bytes: number;
    /** See `event-chunk.ts`. */
    frames: Uint8Array;
  };
  /** What the rows that are left of `event_log` do not tell. */
  event_marks: {
    /** `given`: no greater position was handed out when it was written. `pruned`: nothing after it was pruned. */
    name: 'given' | 'pruned';
    position: number;
  };
  /** Future events. */
  scheduled_events: {
    id: string;
    org_id: string;
    /** `ORG/NAME` */
    source: string;
    /** A user and a client may have the same name. */
    kind: 'user' | 'client';
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
    /** A user and a client may have the same name. */
    kind: 'user' | 'client';
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
  audit: {
    id: Generated<number>;
    org_id: string | null;
    at: number;
    actor: string;
    action: string;
    target: string;
    outcome: 'done' | 'denied';
    detail: string;
  };
}
