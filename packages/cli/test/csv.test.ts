import fc from 'fast-check';
import { expect, test } from 'vitest';
import { csvRecords } from '../src/csv.js';

async function read(pieces: Iterable<string>, most = 1000): Promise<(readonly string[])[]> {
  const all = (async function* () {
    yield* pieces;
  })();
  const records: (readonly string[])[] = [];
  for await (const { fields } of csvRecords(all, most)) records.push(fields);
  return records;
}

const quoted = (field: string): string => `"${field.replaceAll('"', '""')}"`;

test('whatever is in fields, and however the text is cut, comes out as it went in', async () => {
  const field = fc.string({ unit: fc.constantFrom('a', ' ', ',', '"', '\n', 'ä'), maxLength: 8 });
  const records = fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(records, fc.integer({ min: 1, max: 7 }), async (wanted, size) => {
      const text = wanted.map((fields) => `${fields.map(quoted).join(',')}\r\n`).join('');
      const characters = [...text];
      const pieces: string[] = [];
      for (let from = 0; from < characters.length; from += size) {
        pieces.push(characters.slice(from, from + size).join(''));
      }
      expect(await read(pieces)).toEqual(wanted);
    }),
  );
});

test.each<[string, string[][]]>([
  [
    'a,b\n1,2',
    [
      ['a', 'b'],
      ['1', '2'],
    ],
  ],
  [
    'a,\n,b\n',
    [
      ['a', ''],
      ['', 'b'],
    ],
  ],
  ['\n\na\n\n', [['a']]],
  ['""\n', [['']]],
  ['5" disk\n', [['5" disk']]],
  ['\uFEFFa\n', [['a']]],
])('%j is %j', async (text, records) => {
  expect(await read([text])).toEqual(records);
});

test('a quote that is not closed, and a record without an end, are told with their line', async () => {
  await expect(read(['a\n"b\nc'])).rejects.toMatchObject({ line: 2, message: 'a quote is not closed' });
  await expect(read([`a\n${'x'.repeat(50)}`], 20)).rejects.toMatchObject({ line: 2 });
});
