import pg from 'pg';
import { MusterError } from './errors.js';
import { codeOf, reasonOf } from './unusable.js';

/** A PostgreSQL that cannot be used at the start, told with its place and what to look at. The password stays untold. */
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
