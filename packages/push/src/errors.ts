import { declareErrors } from '@muster/base/errors';

/** The errors of push jobs. */
export const PUSH_ERRORS = declareErrors({
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
  node_busy: {
    status: 409,
    exit: 1,
    message: "node '{name}' is busy with job {job}",
    fix: 'Wait for the job, abort it, or delete the node with ?force=true.',
  },
});

type Rows = typeof PUSH_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
