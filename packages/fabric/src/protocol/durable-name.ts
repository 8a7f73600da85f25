/** The name of a durable subscription: 1 to 128 of A-Z a-z 0-9 _ . - */
export function isDurableName(text: string): boolean {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(text);
}
