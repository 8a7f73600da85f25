import { MusterError } from './errors.js';

/** What is said of a token among the arguments, where everybody who may list processes sees it. @param reader Who needs it. */
export function shownToken(flag: string, reader: string): MusterError {
  return new MusterError('usage', {
    reason: `${flag} would show the token to everybody on this machine; put it into a file that only ${reader} can read and name that with ${flag}-file FILE, or pipe it to ${flag}-file -`,
  });
}
