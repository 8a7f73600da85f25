import { declareErrors } from '@muster/base/errors';

/** The errors of the database. */
export const STORE_ERRORS = declareErrors({
  data_dir_in_use: {
    status: 500,
    exit: 5,
    message: 'another muster server is running on {path}',
    fix: 'Stop it first, or choose another --data-dir.',
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
  database_lost: {
    status: 500,
    exit: 2,
    message: 'the database {path} is empty, but the keys beside it ({keys}) say that it has been in use',
    fix: 'Put a backup of it in its place (docs/guide/operating.md, Restore). To begin anew without it, delete {path} and {keys}.',
  },
});

type Rows = typeof STORE_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
