/**
 * Who asks while somebody else waits for an answer gets the same one: attempts that follow each other faster than the server
 * answers, as when a laptop wakes up, do not use up all tickets of the session.
 */
export function oneAtATime<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let asked: Promise<Made> | null = null;
  return () => {
    asked ??= make().finally(() => {
      asked = null;
    });
    return asked;
  };
}
