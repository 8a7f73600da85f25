/** Empties a PostgreSQL database. Making its tables again for each test would take longer than the test. */
export const NO_ROWS = `
  do $$
  declare
    made text;
  begin
    for made in select tablename from pg_tables where schemaname = 'public' and tablename <> 'schema_version' loop
      execute format('delete from %I', made);
    end loop;
    perform setval(format('%I', sequencename)::regclass, 1, false) from pg_sequences where schemaname = 'public';
  end $$;`;
