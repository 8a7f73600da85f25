import { declareErrors } from '@muster/base/errors';

/** The errors of agents. */
export const AGENT_ERRORS = declareErrors({
  not_enrolled: {
    status: 500,
    exit: 2,
    message: 'this node has not enrolled: there is no key at {path}',
    fix: 'Make a token with `muster token create` and start the agent once with --enroll-file FILE, or name an existing key with --key.',
  },
  configuration_refused: {
    status: 500,
    exit: 3,
    message: 'the server refuses to configure this node (status {status}): {reason}',
    fix: 'Check organization, node name and key; enrol again with `muster agent --enroll-file FILE` if the node was removed.',
  },
  server_key_changed: {
    status: 500,
    exit: 3,
    message: 'this is not the server that the node knows: its key is {key}, the node knows {known}, and {reason}',
    fix: 'Is something between node and server that poses as it? If the server was set up anew, or its key is lost, remove {path}, and the next answer is believed.',
  },
  enrolment_refused: {
    status: 500,
    exit: 3,
    message: 'the server refuses to enrol this node (status {status}): {reason}',
    fix: 'Make a new token with `muster token create`; remove an older node of this name with `muster node rm NAME`.',
  },
  limits_unusable: {
    status: 500,
    exit: 2,
    message: 'limits are set for commands, and cannot be kept here: {reason}',
    fix: 'Run the agent by deploy/systemd/muster-agent.service (Delegate=yes) on a machine with cgroup v2, or take `limits` out of its configuration.',
  },
  agent_running: {
    status: 500,
    exit: 5,
    message: 'another muster agent is running on {path}',
    fix: 'Stop it first, or choose another --data-dir.',
  },
});

type Rows = typeof AGENT_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
