/**
 * Which clients are spoken to: those of 4.0 to 4.103 read ids as `{"$oid":"…"}`, those of 4.4 as plain text, and each dies on
 * what the other reads (T8).
 */
export type Dialect = '4.0' | '4.4';

export type Oid = string | { readonly $oid: string };

/** An id as the dialect writes it. */
export function oid(dialect: Dialect, hex: string): Oid {
  return dialect === '4.0' ? { $oid: hex } : hex;
}

/** How the times of tasks are written; each route has its own form (sheet §4A). */
export type DateForm = 'seconds' | 'whole-seconds' | 'text';

export function dateIn(form: DateForm, ms: number): number | string {
  switch (form) {
    case 'seconds':
      return ms / 1000;
    case 'whole-seconds':
      return Math.floor(ms / 1000);
    case 'text':
      // UTC, and nothing that says so.
      return new Date(ms).toISOString().slice(0, 19);
  }
}
