/** Names as they appear in URLs; patterns for the request schemas. */
export const ORGANIZATION_NAME = '^[a-z0-9][a-z0-9_-]{0,254}$';
export const PRINCIPAL_NAME = '^[A-Za-z0-9_][A-Za-z0-9_.:@-]{0,254}$';
export const GROUP_NAME = '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$';

/** The deployed spellings are the same groups (decision N14). */
const ALIASES: Readonly<Record<string, string>> = {
  pushy_job_writers: 'push_job_writers',
  pushy_job_readers: 'push_job_readers',
};

export const ADMINS = 'admins';
/** Whoever may look at nodes and push jobs, as deployed clients know the group. */
export const READERS = 'push_job_readers';

/** The deployed spellings mean what they meant: their members alone (sheet §7.3). */
export function isDeployedSpelling(name: string): boolean {
  return name in ALIASES;
}

export function canonicalGroup(name: string): string {
  return ALIASES[name] ?? name;
}
