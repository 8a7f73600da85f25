/**
 * The one error table. `docs/reference/errors.md` is generated from it.
 *
 * `status` is the HTTP status, `exit` the exit code of the CLI, `fix` what the reader should do.
 * Messages are templates: `{name}` is filled from the error's details. Texts that deployed Push Jobs
 * clients compare are kept to the letter (reference sheet §1.5, §7.5).
 */
export interface ErrorRow {
  readonly status: number;
  readonly exit: number;
  readonly message: string;
  readonly fix: string;
}

/** Exit codes of the CLI: 0 done, 1 the work failed, 2 usage, 3 not allowed, 4 not found, 5 unreachable or busy. */
export const EXIT = { ok: 0, failed: 1, usage: 2, denied: 3, missing: 4, unavailable: 5 } as const;

export const ERRORS = {
  // Chef request signing, sheet §1.5
  missing_auth_headers: {
    status: 400,
    exit: 3,
    message: 'missing required authentication header(s) {headers}',
    fix: 'Sign the request (Chef API signing), or send `Authorization: Bearer TOKEN`.',
  },
  bad_timestamp_header: {
    status: 401,
    exit: 3,
    message: "bad header(s) 'X-Ops-Timestamp'",
    fix: 'Send the time in UTC as YYYY-MM-DDTHH:MM:SSZ.',
  },
  clock_skew: {
    status: 401,
    exit: 3,
    message: 'Failed to authenticate as {name}. Synchronize the clock on your host.',
    fix: 'Set the clock of the calling host; it may differ from the server by less than 900 seconds.',
  },
  unsupported_signing_version: {
    status: 400,
    exit: 3,
    message: 'Unsupported authentication protocol version',
    fix: 'Sign with version 1.0, 1.1 or 1.3 in X-Ops-Sign.',
  },
  body_too_large: {
    status: 413,
    exit: 2,
    message: 'JSON must be no more than {limit} bytes.',
    fix: 'Send a smaller body.',
  },
  organization_not_found: {
    status: 404,
    exit: 4,
    message: "organization '{organization}' does not exist.",
    fix: 'Check the organization in the URL, or create it with `muster org create NAME`.',
  },
  unknown_principal: {
    status: 401,
    exit: 3,
    message: "Failed to authenticate as '{name}'. Ensure that your node_name and client key are correct.",
    fix: 'Check the user name; create the user with `muster user create NAME`.',
  },
  not_associated: {
    status: 403,
    exit: 3,
    message: "'{name}' is not associated with organization '{organization}'",
    fix: 'Ask an admin to add you: `muster user create NAME` or `muster org add-user`.',
  },
  invalid_signature: {
    status: 401,
    exit: 3,
    message: "Invalid signature for user or client '{name}'",
    fix: 'Sign with the private key that belongs to this principal.',
  },
  forbidden: {
    status: 403,
    exit: 3,
    message: "User or client '{name}' does not have access to that action on this server.",
    fix: 'Ask an admin to add you to the group that grants it (docs/reference/permissions.md).',
  },
  invalid_token: {
    status: 401,
    exit: 3,
    message: 'the token is unknown, used up or expired',
    fix: 'Make a new one: `muster token create` for an agent, `muster access-token create` for a person or script.',
  },
  // configuration request, sheet §2.2
  missing_ccpk: { status: 400, exit: 2, message: 'Missing ccpk', fix: 'Send your CURVE public key as ?ccpk=Z85.' },
  bad_ccpk: { status: 401, exit: 2, message: 'Bad ccpk', fix: 'Send 40 characters of Z85, percent-encoded.' },
  node_name_mismatch: {
    status: 403,
    exit: 3,
    message: 'Client and node name must match',
    fix: 'A node may only ask for its own configuration.',
  },
  // general HTTP
  route_not_found: { status: 404, exit: 4, message: 'no such route: {path}', fix: 'See /docs for the routes.' },
  method_not_allowed: { status: 405, exit: 2, message: '{method} is not allowed here', fix: 'Use one of: {allow}.' },
  not_acceptable: { status: 406, exit: 2, message: 'this route answers {type}', fix: 'Send `Accept: {type}`.' },
  unsupported_media_type: {
    status: 415,
    exit: 2,
    message: 'the body must be JSON',
    fix: 'Send `Content-Type: application/json`.',
  },
  invalid_json: { status: 400, exit: 2, message: 'the body is not valid JSON: {reason}', fix: 'Send one JSON object.' },
  invalid_field: {
    status: 400,
    exit: 2,
    message: 'invalid {field}: {reason}',
    fix: 'Correct the field and send again.',
  },
  already_exists: {
    status: 409,
    exit: 1,
    message: "{kind} '{name}' already exists",
    fix: 'Choose another name, or delete it first.',
  },
  not_found: {
    status: 404,
    exit: 4,
    message: "{kind} '{name}' does not exist",
    fix: 'List what exists and check the name.',
  },
  in_use: {
    status: 409,
    exit: 1,
    message: "{kind} '{name}' cannot be deleted: {reason}",
    fix: 'Resolve that first, then delete it.',
  },
  store_unavailable: {
    status: 503,
    exit: 5,
    message: 'the database cannot store this now: {reason}',
    fix: 'Nothing was changed. Check disk space or the database, then try again.',
  },
  too_busy: { status: 503, exit: 5, message: 'too many {what} at once (limit {limit})', fix: 'Wait, then try again.' },
  internal: {
    status: 500,
    exit: 1,
    message: 'internal error',
    fix: 'See the server log; report it with the request id.',
  },
  node_busy: {
    status: 409,
    exit: 1,
    message: "node '{name}' is busy with job {job}",
    fix: 'Wait for the job, abort it, or delete the node with ?force=true.',
  },
  // push jobs, sheet §7.5 (texts to the letter)
  invalid_command: { status: 400, exit: 2, message: 'invalid command supplied', fix: '`command` must be a string.' },
  invalid_nodes: {
    status: 400,
    exit: 2,
    message: 'at least one node must be supplied',
    fix: 'Give `nodes` (a list of names), `search`, `node_group` or `from_job`.',
  },
  invalid_run_timeout: {
    status: 400,
    exit: 2,
    message: 'invalid type supplied for run_timeout (expected a number)',
    fix: 'Give seconds as a number.',
  },
  invalid_quorum: {
    status: 400,
    exit: 2,
    message: 'invalid type supplied for quorum (expected a number)',
    fix: 'Give a count, a fraction such as 0.8, or a percentage such as "80%".',
  },
  invalid_job: {
    status: 400,
    exit: 2,
    message: 'an unknown validation error has occurred',
    fix: '`user`, `dir` and `file` are strings, `env` is an object of strings, the body is an object.',
  },
  invalid_capture_output: {
    status: 400,
    exit: 2,
    message: 'invalid type supplied for capture_output (expected a boolean)',
    fix: 'Give true or false.',
  },
  invalid_key: {
    status: 400,
    exit: 2,
    message: 'invalid key supplied',
    fix: 'Remove the key that is not listed in /docs.',
  },
  duplicate_env: {
    status: 400,
    exit: 2,
    message: 'invalid environment value (duplicate key)',
    fix: 'Name each variable once.',
  },
  invalid_file_prefix: {
    status: 400,
    exit: 2,
    message: "invalid file contents (expected 'base64:...' or 'raw:...')",
    fix: 'Prefix the content with raw: or base64:.',
  },
  invalid_file_base64: {
    status: 400,
    exit: 2,
    message: "invalid file contents (couldn't decode base64 string)",
    fix: 'Send standard base64 with padding.',
  },
  invalid_file_size: {
    status: 400,
    exit: 2,
    message: 'invalid file size (must be <= {limit} bytes)',
    fix: 'Send a smaller file, or let the command fetch it.',
  },
  no_nodes_matched: {
    status: 400,
    exit: 4,
    message: 'no node matches {target}',
    fix: 'Preview targets with `muster node search QUERY`.',
  },
  invalid_selector: {
    status: 400,
    exit: 2,
    message: 'invalid search at character {position}: {reason}',
    fix: '{hint}',
  },
  // starting up
  invalid_configuration: {
    status: 500,
    exit: 2,
    message: 'configuration: {reason}',
    fix: 'See docs/reference/configuration.md.',
  },
  insecure_listen: {
    status: 500,
    exit: 2,
    message: 'refusing to listen on {address} without TLS',
    fix: 'Give --tls-cert and --tls-key, or accept plain HTTP with --insecure-http.',
  },
  data_dir_in_use: {
    status: 500,
    exit: 5,
    message: 'another muster server is running on {path}',
    fix: 'Stop it first, or choose another --data-dir.',
  },
  database_in_use: {
    status: 500,
    exit: 5,
    message: 'another muster server is running on this database',
    fix: 'Stop it first, or choose another --database-url.',
  },
  schema_too_new: {
    status: 500,
    exit: 5,
    message: 'the database has schema version {found}, this muster knows up to {known}',
    fix: 'Install the newer muster again; schemas only go forwards.',
  },
  address_in_use: {
    status: 500,
    exit: 5,
    message: 'cannot listen on {address}: {reason}',
    fix: 'Choose another address, or stop what uses it.',
  },
  server_failed: {
    status: 500,
    exit: 1,
    message: 'the server cannot go on: {reason}',
    fix: 'See the server log, then start it again: it goes on from what is stored. Please report it if it comes back.',
  },
  // agent
  configuration_refused: {
    status: 500,
    exit: 3,
    message: 'the server refuses to configure this node (status {status}): {reason}',
    fix: 'Check organization, node name and key; enrol again with `muster agent --enroll TOKEN` if the node was removed.',
  },
  enrolment_refused: {
    status: 500,
    exit: 3,
    message: 'the server refuses to enrol this node (status {status}): {reason}',
    fix: 'Make a new token with `muster token create`; remove an older node of this name with `muster node rm NAME`.',
  },
  agent_running: {
    status: 500,
    exit: 5,
    message: 'another muster agent is running on {path}',
    fix: 'Stop it first, or choose another --data-dir.',
  },
  // CLI
  server_unreachable: {
    status: 500,
    exit: 5,
    message: 'cannot reach {url}: {reason}',
    fix: 'Check that the server runs and that MUSTER_URL is right.',
  },
  usage: { status: 400, exit: 2, message: '{reason}', fix: 'See --help.' },
  demo_failed: {
    status: 500,
    exit: 1,
    message: 'the demo failed: {reason}',
    fix: 'Run it again; if it fails again, please report it with the lines above.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

export type ErrorDetails = Readonly<Record<string, string | number>>;

function fill(template: string, details: ErrorDetails): string {
  return template.replace(/\{(\w+)\}/g, (hole, name: string) => String(details[name] ?? hole));
}

/** An error out of the table. `message` says what was wrong, `fix` what to do. */
export class MusterError extends Error {
  override readonly name = 'MusterError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(fill(ERRORS[code].message, details), options);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get exit(): number {
    return ERRORS[this.code].exit;
  }

  get fix(): string {
    return fill(ERRORS[this.code].fix, this.details);
  }
}
