/** A place that the node's owner allows, and what of a path lies below it. */
export interface AllowedPlace {
  /** A directory. Its own path is the owner's, and may go over links. */
  readonly root: string;
  /** Names below it, at least one: none of them may be a link, but the last of a file that is replaced. */
  readonly names: readonly string[];
}

/** The place that allows an absolute path: `/dir/**` all below, `/dir/*` what is in it, or the path itself. Null: none does. */
export function placeOf(patterns: readonly string[], path: string): AllowedPlace | null {
  const names = path.split('/').slice(1);
  if (!path.startsWith('/') || names.some((name) => ['', '.', '..'].includes(name) || name.includes('\0'))) return null;
  for (const pattern of patterns) {
    const depth = /\/(\*\*?)$/.exec(pattern)?.[1];
    const root = depth === undefined ? parentOf(path) : pattern.slice(0, -depth.length - 1) || '/';
    const below = names.slice(root.split('/').filter((name) => name !== '').length);
    const beneath = root === '/' || path.startsWith(`${root}/`);
    if (depth === undefined ? pattern === path : beneath && (depth === '**' || below.length === 1)) {
      return { root, names: below };
    }
  }
  return null;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
