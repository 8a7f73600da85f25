/** Permissions that people ask about first, as the table of people calls them. */
export const WORDS = [
  ['org:admin', 'administer'],
  ['push:read', 'see push jobs'],
  ['push:execute', 'run on some'],
  ['push:write', 'run on all'],
  ['task:write', 'tasks'],
  ['job:use', 'jobs'],
  ['job:admin', 'all jobs'],
] as const;

/** What the server says, with the words of the table before the permissions that it names. */
export function inWords(said: string): string {
  const words = new Map<string, string>(WORDS);
  return said.replace(/\b[a-z]+:[a-z]+\b/g, (name) => {
    const word = words.get(name);
    return word === undefined ? name : `“${word}” (${name})`;
  });
}
