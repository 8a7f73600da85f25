import { equal, print } from '@muster/selector';

/** The text of a selector of what has this value there. */
export function equals(name: string, value: string | number | boolean): string {
  return print(equal(name, value));
}
