/**
 * The list with one more, in place unless it was empty. The first push to an empty array makes room for 17 elements;
 * of the lists in an index most hold one, and there are many.
 */
export function appended<E>(list: E[], element: E): E[] {
  if (list.length === 0) return [element];
  list.push(element);
  return list;
}
