/** What a name becomes in paths and names of files (sheet §1.5). */
export function slug(name: string): string {
  return name
    .trim()
    .normalize('NFD')
    .replace(/['\u0080-\u{10ffff}]/gu, '')
    .replace(/[^\w+]/g, '-')
    .replace(/-{2,}/g, '-')
    .replace(/^-|-$/g, '')
    .toLowerCase();
}
