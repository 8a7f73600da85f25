import { declareErrors } from '@muster/base/errors';

/** The errors of the broker. */
export const BROKER_ERRORS = declareErrors({
  broker_unavailable: {
    status: 503,
    exit: 5,
    message: 'the broker cannot be used now: {reason}',
    fix: 'Try again in {seconds} seconds. If it lasts, check RabbitMQ: whether it runs, its disk and memory, --broker-url.',
  },
  broker_topology_differs: {
    status: 500,
    exit: 5,
    message: 'the broker has {name} already, with other properties: {reason}',
    fix: 'Empty it, delete it in the broker, and start again; or use another virtual host in --broker-url.',
  },
  message_unroutable: {
    status: 500,
    exit: 5,
    message: 'no queue takes messages for {key} of the exchange {exchange}, and there is no alternate queue',
    fix: 'Nothing was kept. Somebody has deleted queues or bindings of the broker: start the server again, which declares them.',
  },
  message_too_large: {
    status: 413,
    exit: 2,
    message: 'a message of {bytes} bytes is more than {limit}',
    fix: 'Send less: put large inputs into files and name these.',
  },
});

type Rows = typeof BROKER_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
