import { declareErrors } from '@muster/base/errors';

/** The errors of the command line. */
export const CLI_ERRORS = declareErrors({
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
  connection_broke: {
    status: 502,
    exit: 5,
    message: 'the connection broke before the end of the answer',
    fix: 'Try again; if it breaks again, look at the server and at what is between here and there.',
  },
  nowhere_to_write: {
    status: 400,
    exit: 2,
    message: 'nothing was started: files cannot be written to {directory}: {reason}',
    fix: 'Name a directory in which you may write: --to DIRECTORY. It is made when it does not exist.',
  },
  no_output: {
    status: 404,
    exit: 4,
    message:
      "there is no output of node '{node}': it did not run the command, or the job was started with --no-capture, or by a program that does not ask for output",
    fix: 'See what became of it: muster push status JOB --node {node}',
  },
  invitation_not_found: {
    status: 404,
    exit: 4,
    message: "there is no open invitation {which} '{name}'",
    fix: 'See which there are: {list}',
  },
  output_position_lost: {
    status: 409,
    exit: 1,
    message:
      'the connection broke, and so much output came that its middle was not kept: what was shown cannot be continued',
    fix: 'Read what is kept: {again}',
  },
  group_not_made: {
    status: 404,
    exit: 4,
    message: "group '{name}' does not exist",
    fix: 'If the name is right, make it with its first members: muster group create {name} --user NAME',
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
  quorum_of_none: {
    status: 400,
    exit: 2,
    message: "--quorum takes at least one node, not '{quorum}': a job that ran nowhere would be complete",
    fix: 'To run on whichever nodes are up, however few, give --available in its place.',
  },
  command_without_dashes: {
    status: 400,
    exit: 2,
    message: '{reason}: without -- before the command its options are taken for those of muster',
    fix: 'Put -- before the command: {line}',
  },
  no_task_output: {
    status: 404,
    exit: 4,
    message: 'there is no output of run {attempt} of task {id}',
    fix: 'See its runs, and why it is where it is: muster task show {id}',
  },
  malformed_document: {
    status: 400,
    exit: 2,
    message: '{place} is not {form}: {reason}',
    fix: 'Correct it there, and run the command again.',
  },
  tasks_not_added: {
    status: 400,
    exit: 1,
    message: '{reason} ({done})',
    fix: 'Mend what is wrong there, and go on with --from-line {line}.',
  },
  provider_failed: {
    status: 502,
    exit: 5,
    message: 'cannot sign in at {issuer}: {reason}',
    fix: "Is it reached from here, and does it allow the device flow to its client '{client}'? An authority of your own that has signed its certificate is trusted with NODE_EXTRA_CA_CERTS.",
  },
  sign_in_failed: {
    status: 401,
    exit: 3,
    message: 'you are not signed in: {reason}',
    fix: 'Begin again: `muster login`.',
  },
  key_of_user: {
    status: 409,
    exit: 1,
    message: 'users go on signing with these keys, as an organization revokes those of nodes and services only: {keys}',
    fix: 'Revoke them on the list of the server, as one of its administrators: {again}',
  },
  audit_cut: {
    status: 400,
    exit: 1,
    message: '{file} is no whole export of the audit: {reason}. What is missing is unknown',
    fix: 'Export it again, all of it: `muster audit export` without --after-seal; or ask the server: `muster audit verify`.',
  },
  not_yours_to_grant: {
    status: 403,
    exit: 3,
    message: 'approval {id} is not yours to agree to',
    fix: 'That may: {who}. What you asked for yourself you can take back: `muster approval deny {id}`.',
  },
  audit_forged: {
    status: 500,
    exit: 1,
    message:
      'forged entries in the audit: {count}, written, or changed before they were sealed, by none of the servers: {ids}',
    fix: 'Look at them (`muster audit --after {before} --limit 1` for the first), and find out who could write to the database. They stay in the audit: once looked into, `--known-forged {count}` fails only for more.',
  },
  not_agreed: { status: 400, exit: 1, message: 'nothing was done', fix: 'Answer with y to go on.' },
  demo_failed: {
    status: 500,
    exit: 1,
    message: 'the demo failed: {reason}',
    fix: 'Run it again; if it fails again, please report it with the lines above.',
  },
});

type Rows = typeof CLI_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
