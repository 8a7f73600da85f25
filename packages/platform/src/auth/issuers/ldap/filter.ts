/** What stands for what in the filter of a directory. */
export type Placeholder = 'user' | 'dn';

/** A text as a value of a filter (RFC 4515 §3): it says nothing but itself, whoever has typed it. */
export function filterValue(text: string): string {
  return text.replace(/[\\*()\0]/g, (char) => `\\${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** The filter that a template means for somebody. */
export function filterOf(template: string, values: Readonly<Partial<Record<Placeholder, string>>>): string {
  return template.replace(/\{(user|dn)\}/g, (_, name: Placeholder) => filterValue(values[name] ?? ''));
}

/** Why this cannot be the template of a filter that names one of these; null: it can. */
export function whyNoTemplate(template: string, needed: readonly Placeholder[]): string | null {
  const named = [...template.matchAll(/\{([^{}]*)\}/g)].map(([, name = '']) => name);
  const unknown = named.find((name) => !needed.some((one) => one === name));
  const all = needed.map((name) => `{${name}}`).join(' and ');
  if (unknown !== undefined) return `there is no {${unknown}}, only ${all}`;
  if (named.length === 0) return `must have ${all.replace(' and ', ' or ')} in it`;
  return /^\(.*\)$/s.test(template) ? null : 'must be in parentheses, such as (uid={user})';
}
