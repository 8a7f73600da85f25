/** What the author of a plugin can do about a reason, by how the reason begins. */
const FIXES: readonly (readonly [RegExp, string])[] = [
  [
    /^could not read task plugin response file/,
    'Before it ends, write the response into the file that is called as the task file, with -response.json instead of .json at its end.',
  ],
  [
    /^plugin saved non-json/,
    'Write one JSON object and nothing behind it, such as {"status": 1, "stdout": "done"}, in UTF-8.',
  ],
  [
    /^plugin returned (unknown type for|non-positive) status/,
    'Give status as a whole number without quotes: 1 succeeded, 2 or more failed.',
  ],
  [
    /did not exit cleanly/,
    'End with exit status 0 once the response is written, also when the task failed: that is what status is for.',
  ],
  [/not found or not executable/, 'Check the path, that the file may be executed (chmod +x), and what #! names.'],
  [/^cannot load .*: there is no such file$/, 'Check the path of --module; on a node it is absolute.'],
  [/exports no function 'run'$/, 'Export it: export async function run(task, { log }) { … }'],
  [/^Task did not return a HASH/, 'Return { status => 1, stdout => …, stderr => … } from run.'],
  [/^it took longer than its limit/, 'Give it more time with --timeout, or let it end by itself.'],
  [/^exit status 75$/, 'It asks to be run again later, within the limits of its queue.'],
  [/^exit status 127$/, 'A shell ends like this when it finds no command of that name.'],
];

/** Null when there is nothing to add. */
export function fixOf(reason: string): string | null {
  return FIXES.find(([begins]) => begins.test(reason))?.[1] ?? null;
}
