/** What a listener is given instead of a text: some hints may have been lost, look for yourself. */
export const MISSED = null;

/**
 * Short messages between the processes that share a database, as a hint to look now what would be found later anyway.
 * They are never the truth: one may be lost, come twice, or come before what it tells of can be read elsewhere.
 */
export interface Hints {
  /** To all who listen to this topic, in this process, too. Never fails and is not waited for. */
  send(topic: string, text: string): void;
  /**
   * `hear` gets the texts of this topic, and `MISSED` whenever some may have been lost: also once at the beginning, when
   * from now on nothing is missed. Returns how to stop.
   */
  listen(topic: string, hear: (text: string | typeof MISSED) => void): () => void;
}
