/** Records of one request, and their characters: below what a server takes unless it is told otherwise. */
const RECORDS = 500;
const CHARACTERS = 600_000;

/** Sends records of any number, some at once; the next ones are read while the last ones are on their way. */
export async function inBatches<T extends { readonly text: string }>(
  records: AsyncIterable<T>,
  send: (batch: readonly T[]) => Promise<void>,
): Promise<void> {
  let sending: Promise<void> = Promise.resolve();
  let batch: T[] = [];
  let characters = 0;
  const flush = async (): Promise<void> => {
    await sending;
    if (batch.length === 0) return;
    sending = send(batch);
    // Its failure is told where it is waited for.
    sending.catch(() => undefined);
    batch = [];
    characters = 0;
  };
  for await (const record of records) {
    if (batch.length === RECORDS || characters + record.text.length > CHARACTERS) await flush();
    batch.push(record);
    characters += record.text.length;
  }
  await flush();
  await sending;
}
