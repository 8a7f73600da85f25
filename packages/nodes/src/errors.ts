import { declareErrors } from '@muster/base/errors';
import '@muster/platform/errors';

/** The errors of nodes and their configuration requests. */
export const NODES_ERRORS = declareErrors({
  missing_ccpk: {
    listed: true,
    status: 400,
    exit: 2,
    message: 'Missing ccpk',
    fix: 'Send your CURVE public key as ?ccpk=Z85.',
  },
  bad_ccpk: {
    listed: true,
    status: 401,
    exit: 2,
    message: 'Bad ccpk',
    fix: 'Send 40 characters of Z85, percent-encoded.',
  },
  node_without_agent: {
    status: 409,
    exit: 1,
    message: "node '{name}' has no agent: the server itself runs commands there over ssh",
    fix: 'To give it one, delete it first (`muster ssh-node rm {name}`), then enrol its agent under the same name.',
  },
});

type Rows = typeof NODES_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
