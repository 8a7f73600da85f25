import pg from 'pg';

/** Connections to PostgreSQL. One that breaks shows in the query that fails. */
export class Pool {
  constructor(connectionString, max) {
    this.pool = new pg.Pool({ connectionString, max });
    this.pool.on('error', (error) => console.error(error.message));
  }

  async first(statement) {
    return (await this.pool.query(statement)).rows[0];
  }

  end() {
    return this.pool.end();
  }
}
