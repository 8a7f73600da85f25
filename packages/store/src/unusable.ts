import { processUser } from '@muster/base';
import pg from 'pg';
import { MusterError } from './errors.js';

/** A database that cannot be opened at the start, told with its place and what to look at. */
export function unusableFile(path: string, cause: unknown): MusterError {
  const hint = `Check the space on its disk, and that the user ${processUser()} may write to it. A damaged file is replaced by a backup.`;
  return new MusterError('database_unusable', { database: path, reason: reasonOf(cause), hint }, { cause });
}

/** The same of PostgreSQL. The password stays untold. */
export function unusablePostgres(url: string, cause: unknown): MusterError {
  const { host, port, database, user } = new pg.Client({ connectionString: url });
  const place = `'${database ?? ''}' at ${host}:${port}`;
  const hint = hintFor(codeOf(cause), { database: database ?? '', user: user ?? '' });
  return new MusterError('database_unusable', { database: place, reason: reasonOf(cause), hint }, { cause });
}

function hintFor(code: string, { database, user }: { readonly database: string; readonly user: string }): string {
  switch (code) {
    case '3D000':
      return `Create it (createdb ${database}), or correct the name in database_url (--database-url).`;
    case '28P01':
    case '28000':
      return `Check the user ${user} and its password in database_url (--database-url), and pg_hba.conf of PostgreSQL.`;
    case '42501':
      return `Let the user ${user} make tables there: make it the owner of the database, or name another user in database_url (--database-url).`;
    default:
      return 'Check that PostgreSQL runs and takes connections, and host and port in database_url (--database-url).';
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Of a name with several addresses Node's error has a code only.
  return error.message || codeOf(error) || error.name;
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
