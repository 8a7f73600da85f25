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
  upgrade_required: {
    status: 426,
    exit: 2,
    message: '{path} is a WebSocket',
    fix: 'Connect to it as ws:// or wss://, with a subprotocol of STOMP: v12.stomp.',
  },
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
    fix: "Remove '{key}': see /docs for what there is.",
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
  no_job_nodes_matched: {
    status: 400,
    exit: 4,
    message: 'no node of job {job} is {statuses}',
    fix: 'See how its nodes ended: `muster push status {job}`.',
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
  invalid_certificate: {
    status: 500,
    exit: 2,
    message: 'configuration: {setting}: {path} {reason}',
    fix: 'Give PEM files that the user {user} can read: a certificate, its chain behind it, and the private key it was made for.',
  },
  insecure_listen: {
    status: 500,
    exit: 2,
    message: 'refusing to listen on {address} without TLS',
    fix: 'Give --tls-cert and --tls-key, or accept plain HTTP with --insecure-http.',
  },
  insecure_stomp: {
    status: 500,
    exit: 2,
    message: 'refusing to speak STOMP on {address} without TLS',
    fix: 'Give --stomp-tls-cert and --stomp-tls-key, or accept plain STOMP with --insecure-stomp.',
  },
  data_dir_unusable: {
    status: 500,
    exit: 2,
    message: 'configuration: data_dir (--data-dir): the user {user} cannot use {path}: {reason}',
    fix: 'Make it a directory that the user {user} may write to, on a disk with space, or choose another --data-dir.',
  },
  data_dir_in_use: {
    status: 500,
    exit: 5,
    message: 'another muster server is running on {path}',
    fix: 'Stop it first, or choose another --data-dir.',
  },
  database_unusable: {
    status: 500,
    exit: 5,
    message: 'cannot open the database {database}: {reason}',
    fix: '{hint}',
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
    fix: 'Stop what uses it, or choose another address: of a server --http, --heartbeat, --command or --stomp, of a relay --listen or --status.',
  },
  server_failed: {
    status: 500,
    exit: 1,
    message: 'the server cannot go on: {reason}',
    fix: 'See the server log, then start it again: it goes on from what is stored. Please report it if it comes back.',
  },
  // agent
  not_enrolled: {
    status: 500,
    exit: 2,
    message: 'this node has not enrolled: there is no key at {path}',
    fix: 'Make a token with `muster token create` and start the agent once with --enroll TOKEN, or name an existing key with --key.',
  },
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
  // relays
  upstream_missing: {
    status: 500,
    exit: 2,
    message: 'a relay needs an upstream: it passes events on and cannot be the root of the tree',
    fix: 'Give --upstream stomp://HOST:PORT of a relay or of `muster server`, which is the root.',
  },
  upstream_refused: {
    status: 500,
    exit: 3,
    message: 'upstream {url} does not take this relay: {reason}',
    fix: 'Check --login and the passcode, and that an admin has added them to the group event_relays. A broker that is not Muster needs --anonymous.',
  },
  upstream_failed: {
    status: 503,
    exit: 5,
    message: 'upstream of this relay failed: {reason}',
    fix: 'Connect again in a while, and subscribe again. What was published last may or may not have arrived.',
  },
  relay_not_found: {
    status: 404,
    exit: 4,
    message: 'no relay of this user runs here',
    fix: 'Start one with `muster relay`, ask as its user, or name it: `muster relay status --status HOST:PORT`.',
  },
  relay_unreachable: {
    status: 502,
    exit: 5,
    message: 'cannot ask the relay at {place}: {reason}',
    fix: 'Name the address that the relay was given as its --status, not where its clients connect.',
  },
  relay_stopping: { status: 503, exit: 5, message: 'the relay is stopping', fix: 'Connect again, or to another one.' },
  insecure_relay: {
    status: 500,
    exit: 2,
    message: 'refusing to listen on {address} without TLS',
    fix: 'Give --tls-cert and --tls-key and listen on stomp+tls:// or wss://, or accept plain text with --insecure.',
  },
  fabric_unreachable: {
    status: 503,
    exit: 5,
    message: 'cannot connect to {url}: {reason}',
    fix: 'Check that a server or relay listens there, and whether it expects TLS (stomp+tls://, wss://).',
  },
  fabric_passcode: {
    status: 503,
    exit: 5,
    message: 'no passcode for {url}: {reason}',
    fix: 'The function that is the option `passcode` failed; let it try again by itself where that may help.',
  },
  fabric_socket_unreachable: {
    status: 503,
    exit: 5,
    message: 'cannot connect to {url}: {reason}',
    fix: 'Check the path, that the agent (events.socket) or relay runs whose socket it is, and that you are of the group that may open it (events.group).',
  },
  fabric_not_connected: {
    status: 503,
    exit: 5,
    message: 'not connected: nothing was sent',
    fix: 'Wait until the client is connected (`await client.ready()`), then try again; nothing is kept for later.',
  },
  fabric_lost: {
    status: 503,
    exit: 5,
    message: 'the connection to {url} was lost: {reason}',
    fix: 'Check the network and whether the server or relay runs; clients connect again by themselves.',
  },
  fabric_unconfirmed: {
    status: 503,
    exit: 5,
    message: 'the connection was lost before the receipt ({reason}): it may or may not have been {done}',
    fix: 'It is not sent again by itself. Look whether it arrived before you send it again.',
  },
  fabric_refused: {
    status: 400,
    exit: 1,
    message: 'refused by the server: {reason}',
    fix: 'Correct what it names, then connect again.',
  },
  fabric_slow_subscriber: {
    status: 503,
    exit: 5,
    message: 'more than {limit} bytes of events wait to be read by the program',
    fix: 'Read events faster, narrow the selector, or share the work between several programs.',
  },
  fabric_no_completion: {
    status: 504,
    exit: 5,
    message: 'no completion came within {seconds} s',
    fix: 'The command was published and may still be carried out. Wait longer, or look for events with its token.',
  },
  fabric_insecure_page: {
    status: 400,
    exit: 2,
    message:
      'events can be neither signed nor verified here: browsers allow it only to pages from https:// or localhost',
    fix: 'Serve the page over https://, or leave out `sign` and `verify`.',
  },
  fabric_closed: { status: 500, exit: 1, message: 'the client is closed', fix: 'Make a new one with `connect`.' },
  // STOMP frames
  stomp_not_stomp: {
    status: 400,
    exit: 2,
    message: 'this is not STOMP: expected a command such as CONNECT, got {found}',
    fix: 'Speak STOMP 1.2, 1.1 or 1.0 here (docs/reference/fabric-protocol.md); check that both ends agree on TLS.',
  },
  stomp_unknown_command: {
    status: 400,
    exit: 2,
    message: 'there is no command of STOMP that begins with {found}',
    fix: 'Clients send SEND, SUBSCRIBE, UNSUBSCRIBE, ACK, NACK, BEGIN, COMMIT, ABORT and DISCONNECT, each ended by a NUL. Give a body that has NULs a content-length.',
  },
  stomp_invalid_frame: {
    status: 400,
    exit: 2,
    message: 'invalid {command} frame: it {reason}',
    fix: 'Correct the frame (docs/reference/fabric-protocol.md).',
  },
  stomp_invalid_header: {
    status: 400,
    exit: 2,
    message: 'invalid header line {line} in a {command} frame: it {reason}',
    fix: 'Write headers as NAME:VALUE, one a line, escaped as STOMP 1.2 says.',
  },
  stomp_invalid_escape: {
    status: 400,
    exit: 2,
    message: 'undefined escape {escape} in header text {text}',
    fix: 'STOMP {version} knows \\n, \\c, \\\\ and, from 1.2 on, \\r.',
  },
  stomp_invalid_content_length: {
    status: 400,
    exit: 2,
    message: 'invalid content-length {value} in a {command} frame',
    fix: 'Give the bytes of the body as a decimal number.',
  },
  stomp_too_large: {
    status: 413,
    exit: 2,
    message: 'the {what} of a {command} frame is beyond the limit of {limit}',
    fix: 'Send less in one frame.',
  },
  stomp_not_connected: {
    status: 400,
    exit: 2,
    message: '{command} came before CONNECT',
    fix: 'Send CONNECT (or STOMP) first, and wait for CONNECTED.',
  },
  stomp_connected: {
    status: 400,
    exit: 2,
    message: '{command} came on a connection that is connected already',
    fix: 'Send CONNECT once, as the first frame.',
  },
  stomp_version: {
    status: 400,
    exit: 2,
    message: "no version of STOMP in common: header 'accept-version' is {versions}",
    fix: 'We speak 1.2, 1.1 and 1.0.',
  },
  stomp_opening_timeout: {
    status: 408,
    exit: 5,
    message: 'the connection was not logged in in time',
    fix: 'Send CONNECT at once after connecting. If that was done, logins cannot be checked now: try again later.',
  },
  stomp_server_frame: {
    status: 400,
    exit: 2,
    message: '{command} is for servers to send, not for clients',
    fix: 'Publish with SEND.',
  },
  stomp_missing_header: {
    status: 400,
    exit: 2,
    message: "{command} needs the header '{header}'",
    fix: 'Add it and send again.',
  },
  stomp_header_value: {
    status: 400,
    exit: 2,
    message: "header '{header}' of {command} {reason}",
    fix: 'Correct it and send again (docs/reference/fabric-protocol.md).',
  },
  stomp_destination: {
    status: 404,
    exit: 4,
    message: "{command}: there is no destination '{destination}'",
    fix: 'Events have one destination: /topic/events. Select them by the header selector.',
  },
  stomp_relays_only: {
    status: 403,
    exit: 3,
    message: '{what} is for relays only',
    fix: 'Leave it out, or ask an admin to add this principal to the group event_relays.',
  },
  stomp_subscription_exists: {
    status: 409,
    exit: 2,
    message: "SUBSCRIBE: this connection has a subscription with the id '{id}' already",
    fix: 'Choose another id, or UNSUBSCRIBE first.',
  },
  stomp_subscription_missing: {
    status: 404,
    exit: 4,
    message: "{command}: this connection has no subscription with the id '{id}'",
    fix: 'Give the id of a SUBSCRIBE of this connection.',
  },
  stomp_acknowledgement: {
    status: 404,
    exit: 2,
    message: "{command}: header '{header}' names no message that waits for it",
    fix: "Give the header 'ack' of a MESSAGE (1.2), or its message-id and subscription (1.1), once; ack:auto needs no ACK.",
  },
  stomp_transaction_exists: {
    status: 409,
    exit: 2,
    message: "BEGIN: this connection has a transaction '{name}' already",
    fix: 'Choose another name, or COMMIT or ABORT it first.',
  },
  stomp_transaction_missing: {
    status: 404,
    exit: 4,
    message: "{command}: this connection has no transaction '{name}'",
    fix: 'BEGIN it first.',
  },
  stomp_too_many: {
    status: 429,
    exit: 2,
    message: '{command}: too many {what} (limit {limit})',
    fix: 'End some first, or use another connection.',
  },
  // event fabric
  event_reserved: {
    status: 400,
    exit: 2,
    message: "SEND: the attribute '{name}' is reserved",
    fix: 'Name it otherwise: the server says who published an event, when, and at which position.',
  },
  event_type: {
    status: 400,
    exit: 2,
    message: "SEND: header 'type' must be 1 to 128 of the characters A-Z a-z 0-9 _ . -, not '{type}'",
    fix: 'Name the event by such a type.',
  },
  event_too_large: {
    status: 413,
    exit: 2,
    message: 'event too large: type, attributes and body are {size} bytes, the limit is {limit}',
    fix: 'Send less, or where to find it; or raise events.max_size.',
  },
  event_publish_denied: {
    status: 403,
    exit: 3,
    message: "'{principal}' may not publish events of type '{type}'",
    fix: '{hint}',
  },
  event_subscribe_denied: {
    status: 403,
    exit: 3,
    message: "'{principal}' may not follow events of type {type}",
    fix: "Ask an admin for it: `muster event access grant subscribe '{pattern}'`.",
  },
  event_selector: {
    status: 400,
    exit: 2,
    message: 'SUBSCRIBE: invalid selector at character {position}: {reason}',
    fix: '{hint}',
  },
  event_slow_client: {
    status: 503,
    exit: 5,
    message: 'too slow: more than {limit} bytes wait for this client to read them',
    fix: 'Read faster, select less, or subscribe with slow:drop-newest or slow:drop-oldest. What waited is lost.',
  },
  event_revoked: {
    status: 401,
    exit: 3,
    message: "the rights of '{principal}' have changed or ended",
    fix: 'Connect and log in again.',
  },
  event_login_expired: {
    status: 401,
    exit: 3,
    message: "the token of '{principal}' has expired",
    fix: 'Log in with a new one: `muster access-token create`.',
  },
  event_stopping: { status: 503, exit: 5, message: 'the server is stopping', fix: 'Connect again in a little while.' },
  event_durable_taken: {
    status: 409,
    exit: 5,
    message: "the durable subscription '{name}' was taken over by another connection",
    fix: 'Let one connection at a time follow it, or give each a name of its own.',
  },
  event_durable_deleted: {
    status: 410,
    exit: 4,
    message: "the durable subscription '{name}' was deleted",
    fix: 'Subscribe again to begin it anew: it then hears what comes from now on.',
  },
  login_refused: {
    status: 401,
    exit: 3,
    message: 'login refused',
    fix: 'Log in as ORG/NAME with an access token of that user or service, or with a login signed by its key; mind the clock.',
  },
  // CLI
  server_unreachable: {
    status: 500,
    exit: 5,
    message: 'cannot reach {url}: {reason}',
    fix: 'Check that the server runs and that MUSTER_URL is right.',
  },
  ambiguous_job: {
    status: 400,
    exit: 2,
    message: "'{digits}' could be any of these jobs:{jobs}",
    fix: 'Type more digits; the first 12 are the same for all jobs of an organization and may be left out.',
  },
  quorum_unreachable: {
    status: 400,
    exit: 2,
    message: 'nothing was started: {chosen}, and a quorum of {quorum} cannot be reached',
    fix: 'Give --quorum {nodes} or less, a share such as --quorum 80%, or leave it out: then all must commit. Or choose more nodes.',
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

  /** What was wrong and what to do, where one text tells both. */
  get advice(): string {
    const what = this.message.replace(/\.$/, '');
    return this.fix === '' ? what : `${what}. ${this.fix}`;
  }
}
