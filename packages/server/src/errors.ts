import { declareErrors } from '@muster/base/errors';

/** The errors of the server as a whole. */
export const SERVER_ERRORS = declareErrors({
  server_failed: {
    status: 500,
    exit: 1,
    message: 'the server cannot go on: {reason}',
    fix: 'See the server log, then start it again: it goes on from what is stored. Please report it if it comes back.',
  },
  console_not_built: {
    status: 404,
    exit: 4,
    message: 'this server has no web console: it was not built',
    fix: 'Build it, `npm run build`, and start the server again. To be without: `console: false` in its settings, or --no-console.',
  },
});

type Rows = typeof SERVER_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
