import { declaredErrors } from '@muster/base';
import '@muster/cli';
import { code, table } from './markdown.mjs';

export function errorsPage() {
  const rows = [...declaredErrors()].map(([name, { status, exit, message, fix }]) => [
    code(name),
    status,
    exit,
    message,
    fix,
  ]);
  return `# Errors

Generated from the errors that each layer declares (\`src/errors.ts\` in each package) by \`npm run docs\`.

Over HTTP an error is \`{"error": text}\` or \`{"error": [text]}\`, as deployed Push Jobs clients expect it; the response
header \`X-Muster-Error\` has the code and \`X-Muster-Fix\` says what to do. The CLI prints \`error: …\` and \`fix: …\` and exits
with the exit code. Words in braces are filled in. Codes are stable; texts of the first groups are kept to the letter for
deployed clients.

Exit codes: 0 done, 1 the work failed, 2 usage, 3 not allowed, 4 not found, 5 unreachable or busy, 6 waits for others to agree.

${table(['code', 'HTTP', 'exit', 'message', 'what to do'], rows)}
`;
}
