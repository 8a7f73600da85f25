import { filledLines } from '../parts/filled-lines.js';
import { musterCommand } from '../parts/shell.js';

export type NewTaskParams =
  | { readonly params: Readonly<Record<string, unknown>> }
  /** What is wrong, and in which line. */
  | { readonly wrong: string };

/** `name=value` a line, as `muster task add --param` takes them: a value that is JSON is that, everything else is text. */
export function paramsOfLines(text: string): NewTaskParams {
  const params: Record<string, unknown> = {};
  for (const [at, line] of filledLines(text)) {
    const end = line.indexOf('=');
    const name = line.slice(0, Math.max(0, end)).trim();
    if (name === '') return { wrong: `Line ${at} must be name=value.` };
    if (Object.hasOwn(params, name)) return { wrong: `Line ${at} gives ${name} a second time.` };
    params[name] = typedValue(line.slice(end + 1).trim());
  }
  return { params };
}

export function addCommand(queue: string, text: string): string {
  return musterCommand('task', 'add', queue, ...filledLines(text).flatMap(([, line]) => ['--param', line]));
}

function typedValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
