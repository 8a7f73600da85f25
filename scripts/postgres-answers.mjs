/** Exits 0 when a PostgreSQL server answers at the URL, 1 when not. */
import pg from 'pg';

const client = new pg.Client({ connectionString: process.argv[2], connectionTimeoutMillis: 3000 });
try {
  await client.connect();
  await client.query('SELECT 1');
  await client.end();
} catch {
  process.exitCode = 1;
}
