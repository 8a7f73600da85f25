import { signal } from '@preact/signals';

/** What the last preview of this tab said, of the job that was then started: the difference is told. */
export const previewed = signal<{ readonly id: string; readonly count: number } | null>(null);
