import { MusterError } from '../../errors.js';

/**
 * What was typed for a parameter: JSON where it is JSON (`200`, `true`, `null`, `[1, 2]`, `{"a": 1}`, `"200"`), else text.
 * So `007` and `1.2.3` are texts. @param asText It is text, whatever it looks like.
 */
export function typedValue(text: string, asText: boolean): unknown {
  if (asText) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** `--param file=a.png --param width=200`. @throws MusterError `usage` */
export function paramsOf(words: readonly string[], asText: boolean): Record<string, unknown> {
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      if (at > 0) return [word.slice(0, at), typedValue(word.slice(at + 1), asText)];
      throw new MusterError('usage', { reason: `--param takes NAME=VALUE, not '${word}'` });
    }),
  );
}
