/** A text cut in the middle: paths and ids of one kind begin alike. */
export function cutInTheMiddle(text: string, most: number): string {
  if (text.length <= most) return text;
  const head = Math.floor((most - 1) / 3);
  return `${text.slice(0, head)}…${text.slice(head + 1 - most)}`;
}
