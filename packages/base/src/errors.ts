/**
 * Errors. Each layer declares the rows of its own (`errors.ts` in each package), here are those that several use.
 * `docs/reference/errors.md` is generated from all of them.
 */
export interface ErrorRow {
  /** HTTP status. */
  readonly status: number;
  /** Exit code of the CLI. */
  readonly exit: number;
  /**
   * What was wrong. `{name}` is filled from the error's details. Texts that deployed Push Jobs clients compare are kept
   * to the letter (reference sheet §1.5, §7.5).
   */
  readonly message: string;
  /** What the reader should do; filled in the same way. */
  readonly fix: string;
  /** Over HTTP the text stands in a list, as deployed clients expect it (sheet §1.5). */
  readonly listed?: true;
}

/** Exit codes of the CLI: 0 done, 1 the work failed, 2 usage, 3 not allowed, 4 not found, 5 unreachable or busy, 6 waits for others to agree. */
export const EXIT = { ok: 0, failed: 1, usage: 2, denied: 3, missing: 4, unavailable: 5, asked: 6 } as const;

const declared = new Map<string, ErrorRow>();

/**
 * Makes the errors of a layer known. To the compiler they are declared next to the table:
 * `declare module '@muster/base/errors' { interface ErrorTable extends Rows {} }`.
 */
export function declareErrors<const Table extends Readonly<Record<string, ErrorRow>>>(table: Table): Table {
  for (const [code, row] of Object.entries(table)) {
    const other = declared.get(code);
    if (other !== undefined && (other.message !== row.message || other.status !== row.status)) {
      throw new Error(`two layers declare the error ${code}`);
    }
    declared.set(code, row);
  }
  return table;
}

const BASE_ERRORS = declareErrors({
  // Chef request signing, sheet §1.5
  body_too_large: {
    status: 413,
    exit: 2,
    message: 'JSON must be no more than {limit} bytes.',
    fix: 'Send a smaller body.',
  },
  organization_not_found: {
    listed: true,
    status: 404,
    exit: 4,
    message: "organization '{organization}' does not exist.",
    fix: 'Check the organization in the URL, or create it with `muster org create NAME`.',
  },
  unknown_principal: {
    listed: true,
    status: 401,
    exit: 3,
    message: "Failed to authenticate as '{name}'. Ensure that your node_name and client key are correct.",
    fix: 'Check organization, name and private key: there is nobody of that name whom this key belongs to, or it was revoked, which admins see: `muster key revoked`, and with `--server` those of users.',
  },
  forbidden: {
    listed: true,
    status: 403,
    exit: 3,
    message: "User or client '{name}' does not have access to that action on this server.",
    fix: 'It needs {permission}, which is for {holders}. Ask an admin (docs/reference/permissions.md).',
  },
  // general HTTP
  method_not_allowed: { status: 405, exit: 2, message: '{method} is not allowed here', fix: 'Use one of: {allow}.' },
  not_acceptable: { status: 406, exit: 2, message: 'this route answers {type}', fix: 'Send `Accept: {type}`.' },
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
  too_busy: { status: 503, exit: 5, message: 'too many {what} at once (limit {limit})', fix: 'Wait, then try again.' },
  internal: {
    status: 500,
    exit: 1,
    message: 'internal error',
    fix: 'See the server log; report it with the request id.',
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
  data_dir_unusable: {
    status: 500,
    exit: 2,
    message: 'configuration: data_dir (--data-dir): the user {user} cannot use {path}: {reason}',
    fix: 'Make it a directory that the user {user} may write to, on a disk with space, or choose another --data-dir.',
  },
  database_unusable: {
    status: 500,
    exit: 5,
    message: 'cannot open the database {database}: {reason}',
    fix: '{hint}',
  },
  address_in_use: {
    status: 500,
    exit: 5,
    message: 'cannot listen on {address}: {reason}',
    fix: 'Stop what uses it, or choose another address: of a server --http, --heartbeat, --command or --stomp, of a relay --listen or --status.',
  },
  // CLI
  server_unreachable: {
    status: 500,
    exit: 5,
    message: 'cannot reach {url}: {reason}',
    fix: 'Check that the server runs and that MUSTER_URL is right.',
  },
  usage: { status: 400, exit: 2, message: '{reason}', fix: 'See --help.' },
  store_unavailable: {
    status: 503,
    exit: 5,
    message: 'the database cannot be used now: {reason}',
    fix: 'Nothing was changed. Check disk space or the database, then try again.',
  },
  clock_skew: {
    listed: true,
    status: 401,
    exit: 3,
    message: 'Failed to authenticate as {name}. Synchronize the clock on your host.',
    fix: 'Set the clock of the calling host; it may differ from the server by less than 900 seconds.',
  },
  invalid_selector: {
    status: 400,
    exit: 2,
    message: 'invalid search at character {position}: {reason}',
    fix: '{hint}',
  },
  certificate_untrusted: {
    status: 500,
    exit: 5,
    message: 'the certificate of {url} is not trusted: {reason}',
    fix: 'Name a PEM file with the authority that signed it, or with a self-signed certificate itself: on the command line --ca FILE, MUSTER_CA or `ca` in the settings file, for an agent `ca` in its configuration.',
  },
  certificate_invalid: {
    status: 500,
    exit: 5,
    message: 'the certificate of {url} is not valid: {reason}',
    fix: 'Renew it on the server, or use a URL with a name that it is for.',
  },
});

type BaseErrors = typeof BASE_ERRORS;

/** Every error that the layers in this program have declared. */
export interface ErrorTable extends BaseErrors {}

export type ErrorCode = keyof ErrorTable;

export type ErrorDetails = Readonly<Record<string, string | number>>;

/** The names in braces of a template. */
type Holes<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Holes<Rest> : never;

type RowOf<Code extends ErrorCode> = ErrorTable[Code];

/** What an error must tell of itself: whatever its message and its fix leave open. */
export type DetailsOf<Code extends ErrorCode> = Readonly<
  Record<Holes<RowOf<Code>['message'] | RowOf<Code>['fix']>, string | number>
>;

/** The errors that this program knows, by their code. */
export function declaredErrors(): ReadonlyMap<string, ErrorRow> {
  return declared;
}

export function isErrorCode(code: unknown): code is ErrorCode {
  return typeof code === 'string' && declared.has(code);
}

/** @throws Error when no layer that is loaded has declared it. */
export function errorRow(code: string): ErrorRow {
  const row = declared.get(code);
  if (row === undefined) throw new Error(`no layer that is loaded declares the error ${code}`);
  return row;
}

function fill(template: string, details: ErrorDetails): string {
  return template.replace(/\{(\w+)\}/g, (hole, name: string) => String(details[name] ?? hole));
}

/** What `MusterError` makes. To be extended where the text of an error comes from elsewhere. */
export class DeclaredError extends Error {
  override readonly name = 'MusterError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(fill(errorRow(code).message, details), options);
    this.code = code;
    this.details = details;
  }

  /** An error of a peer, whose details are as they came. */
  static told(code: ErrorCode, details: ErrorDetails, options?: ErrorOptions): MusterError {
    return new DeclaredError(code, details, options);
  }

  get status(): number {
    return errorRow(this.code).status;
  }

  get exit(): number {
    return errorRow(this.code).exit;
  }

  get fix(): string {
    return fill(errorRow(this.code).fix, this.details);
  }

  /** What was wrong and what to do, where one text tells both. */
  get advice(): string {
    const what = this.message.replace(/\.$/, '');
    return this.fix === '' ? what : `${what}. ${this.fix}`;
  }
}

/** A declared error. `message` says what was wrong, `fix` what to do. */
export interface MusterError extends DeclaredError {}

interface MusterErrorConstructor {
  new <Code extends ErrorCode>(
    code: Code,
    ...rest: [keyof DetailsOf<Code>] extends [never]
      ? [details?: ErrorDetails, options?: ErrorOptions]
      : [details: DetailsOf<Code> & ErrorDetails, options?: ErrorOptions]
  ): MusterError;
  readonly prototype: MusterError;
  told(code: ErrorCode, details: ErrorDetails, options?: ErrorOptions): MusterError;
}

export const MusterError: MusterErrorConstructor = DeclaredError;
