import { declareErrors } from '@muster/base/errors';

/** The errors of signatures and certificates. */
export const SIGNING_ERRORS = declareErrors({
  // Chef request signing, sheet §1.5
  missing_auth_headers: {
    listed: true,
    status: 400,
    exit: 3,
    message: 'missing required authentication header(s) {headers}',
    fix: 'Sign the request (Chef API signing), or send `Authorization: Bearer TOKEN`.',
  },
  bad_timestamp_header: {
    listed: true,
    status: 401,
    exit: 3,
    message: "bad header(s) 'X-Ops-Timestamp'",
    fix: 'Send the time in UTC as YYYY-MM-DDTHH:MM:SSZ.',
  },
  unsupported_signing_version: {
    listed: true,
    status: 400,
    exit: 3,
    message: 'Unsupported authentication protocol version',
    fix: 'Sign with version 1.0, 1.1 or 1.3 in X-Ops-Sign.',
  },
  // CLI
  audit_broken: {
    status: 500,
    exit: 1,
    message: 'the audit is not as it was sealed, from seal {seal} on: {reason}',
    fix: 'Compare with an export that was kept elsewhere, and find out who could write to the database.',
  },
});

type Rows = typeof SIGNING_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
