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
  push_file_missing: {
    status: 400,
    exit: 1,
    message: 'the file with SHA-256 {sha256} is not there whole',
    fix: 'Bring it first (PUT and PATCH /organizations/ORG/pushy/files/SHA256); `muster push start` does. Files go when no job has named them for files.keep.',
  },
  push_files_full: {
    status: 409,
    exit: 1,
    message: 'there is no room for a further file: the limit is {limit}',
    fix: 'Wait for older files to go (files.keep after the last job that named them), or raise files.total on the server.',
  },
  file_hash_wrong: {
    status: 400,
    exit: 1,
    message: 'the bytes that came have another SHA-256 than {sha256}; they were deleted',
    fix: 'Bring the file again: it may have changed on the way, or while it was read.',
  },
  push_jobs_running: {
    status: 429,
    exit: 5,
    message: "'{name}' has {running} push jobs that go on, and may have {limit} at one time",
    fix: 'Wait until one has ended, or abort one: `muster push list --status voting,running`. Administrators: push.max_running in the settings of the server, `muster org set ORG --max-running N`.',
  },
  push_jobs_started: {
    status: 429,
    exit: 5,
    message: "'{name}' may start {limit} push jobs within a minute",
    fix: 'Wait {seconds} s; or choose the nodes of several jobs in one. Administrators: push.max_starts in the settings of the server, `muster org set ORG --max-starts N`.',
  },
  too_many_nodes: {
    status: 403,
    exit: 3,
    message: '{nodes} nodes are chosen, and {who} allows {limit} in one push job',
    fix: 'Choose fewer, in several jobs. Administrators: {raised}.',
  },
  push_job_not_found: {
    status: 404,
    exit: 4,
    message: "job '{job}' does not exist",
    fix: 'List what exists and check the id: `muster push list`.',
  },
  runbook_version_not_found: {
    status: 404,
    exit: 4,
    message: "version of runbook {name} '{version}' does not exist",
    fix: 'List what exists: `muster runbook versions {name}`.',
  },
  runbook_not_found: {
    status: 404,
    exit: 4,
    message: "runbook '{name}' does not exist",
    fix: 'List what exists and check the name: `muster runbook list`.',
  },
  push_job_not_held: {
    status: 409,
    exit: 1,
    message: "job '{job}' does not wait to be continued: it is {status}",
    fix: 'See what it waits for: `muster push why {job}`. What a job that has ended did not start: `muster push rerun {job} --not-started`.',
  },
  push_job_held_elsewhere: {
    status: 409,
    exit: 1,
    message: "job '{job}' is held, and not where it was seen: not in batch {batch}, or after further failures",
    fix: 'Look at it again: `muster push why {job}`. Then say that it may go on: `muster push continue {job}`.',
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
  runbook_exists: {
    status: 409,
    exit: 1,
    message: "there is a runbook '{name}' already",
    fix: 'Choose another name, or give that one a new version: `muster runbook update {name} -f FILE`.',
  },
  too_many_runbooks: {
    status: 409,
    exit: 1,
    message: 'the organization has {limit} runbooks already',
    fix: 'Delete runbooks that are not used any more: `muster runbook rm NAME`.',
  },
  runbook_changed: {
    status: 409,
    exit: 1,
    message: "runbook '{name}' was changed or deleted by somebody else at the same time",
    fix: 'Look at it (`muster runbook show {name}`), and change it again if that is still right.',
  },
  runbook_without_author: {
    status: 409,
    exit: 1,
    message: "runbook '{name}' asks nodes with the rights of {author}, who may not start push jobs any more",
    fix: 'Somebody who may gives it a new version, and stands for it from then on: `muster runbook update {name} -f FILE`.',
  },
  approval_decided: {
    status: 409,
    exit: 1,
    message: 'approval {id} is {status}{by}',
    fix: 'It is decided once. Look at it: `muster approval show {id}`.',
  },
  approval_expired: {
    status: 409,
    exit: 1,
    message: 'approval {id} has expired: nobody decided in time',
    fix: 'Whoever needs it asks again, by doing again what they did.',
  },
  approval_own: {
    status: 403,
    exit: 3,
    message: 'approval {id} is what you asked for yourself',
    fix: 'Somebody else has to grant it.',
  },
  approval_not_same: {
    status: 409,
    exit: 1,
    message: 'approval {id} is not of what has this hash',
    fix: 'Look at what would be started (`muster approval show {id}`), and grant that.',
  },
  approval_void: {
    status: 409,
    exit: 1,
    message: 'approval {id} cannot be granted: {reason}',
    fix: 'Deny it, and have it asked for by somebody who may.',
  },
  too_many_approvals: {
    status: 409,
    exit: 1,
    message: 'the organization has {limit} requests that wait for approval already',
    fix: 'Grant or deny some: `muster approval list`.',
  },
  approval_needed: {
    status: 409,
    exit: 1,
    message: 'others have to agree to this push job first ({why})',
    fix: 'Start it with `muster push start`, which asks them; a schedule that is held asks when it is resumed.',
  },
  too_many_policies: {
    status: 409,
    exit: 1,
    message: 'the organization has {limit} policies of approval already',
    fix: 'Delete some: `muster approval policy rm NAME`.',
  },
  node_busy: {
    status: 409,
    exit: 1,
    message: "node '{name}' is busy with job {job}",
    fix: 'Wait for the job, abort it, or delete the node with --force (REST: ?force=true).',
  },
});

type Rows = typeof PUSH_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
