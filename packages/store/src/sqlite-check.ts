import Database from 'better-sqlite3';

/**
 * A program of its own: looks through every page of the SQLite file that is its argument and prints what is wrong with
 * them, as a JSON list of texts. It takes as long as reading the whole file does, and can be ended at any moment.
 */
const MOST_FINDINGS = 10;

function findings(path: string): readonly string[] {
  try {
    const db = new Database(path, { readonly: true, fileMustExist: true });
    const rows = db.pragma(`quick_check(${MOST_FINDINGS})`) as readonly { quick_check: string }[];
    const texts = rows.map((row) => row.quick_check);
    return texts.length === 1 && texts[0] === 'ok' ? [] : texts;
  } catch (error) {
    if (error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)) return [error.message];
    throw error;
  }
}

process.stdout.write(JSON.stringify(findings(process.argv[2] ?? '')));
