import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Prepared } from '../src/sqlite-prepared.js';

let db: Database.Database;

beforeEach(() => {
  db = new Database(':memory:');
  db.exec("create table t (a integer, b text); insert into t values (1, 'one'), (2, 'two')");
});
afterEach(() => void db.close());

describe('statements that a connection has prepared', () => {
  test('are prepared once', () => {
    const prepared = new Prepared(db);
    const first = prepared.get('select a from t');
    expect(prepared.get('select a from t')).toBe(first);
    expect(prepared.size).toBe(1);
  });

  test('are kept up to a number, those that were used last', () => {
    const prepared = new Prepared(db, 2);
    const one = prepared.get('select 1');
    prepared.get('select 2');
    prepared.get('select 1');
    prepared.get('select 3');
    expect(prepared.size).toBe(2);
    expect(prepared.get('select 1')).toBe(one);
  });

  test('one that is refused is not kept', () => {
    const prepared = new Prepared(db);
    expect(() => prepared.get('select 1 from nowhere')).toThrow('no such table');
    expect(prepared.size).toBe(0);
  });

  test('find what others have made of the tables meanwhile', () => {
    const prepared = new Prepared(db);
    const all = (): unknown => prepared.get('select * from t where a = ?').all([1]);
    expect(all()).toEqual([{ a: 1, b: 'one' }]);
    db.exec('alter table t add column c integer default 3');
    expect(all()).toEqual([{ a: 1, b: 'one', c: 3 }]);
  });
});
